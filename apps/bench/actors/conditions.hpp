// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/json.hpp"

#include <string>

namespace troupe::bench {

/// The machine's load averages, "0.42 0.40 0.38".
[[nodiscard]] std::string load_average();

/// The machine and the programs: what a figure means nothing without.
[[nodiscard]] Json::Object conditions();

}  // namespace troupe::bench
