// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <filesystem>
#include <string>

namespace troupe {

/// $TROUPE_HOME, by default ~/.local/state/troupe; made with mode 0700 where it is not there,
/// left as it is where it is.
[[nodiscard]] Result<std::filesystem::path> troupe_home();

/// A new folder <home>/<job>/<date-time-process>, mode 0700.
[[nodiscard]] Result<std::filesystem::path> make_run_directory(const std::string& job);

}  // namespace troupe
