// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"

#include <string>

namespace troupe {

/// Every key that a graph can have, with type, default and meaning, from the schemas.
[[nodiscard]] std::string graph_help(const ActorKinds& kinds);

}  // namespace troupe
