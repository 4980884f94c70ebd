// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <string>

namespace troupe {

/// The path of a program that a graph or a kind names: one with a '/' is a path already, any other
/// is looked for beside this program. The error names where it was looked for.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

}  // namespace troupe
