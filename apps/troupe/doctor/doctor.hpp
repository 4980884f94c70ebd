// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/doctor/finding.hpp"

#include <filesystem>

namespace troupe::doctor {

/// Runs every probe, each in a process of its own. `programs` is the folder in which troupe-train
/// is looked for first.
[[nodiscard]] Findings examine(const std::filesystem::path& programs);

}  // namespace troupe::doctor
