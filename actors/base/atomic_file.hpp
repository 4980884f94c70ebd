// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <filesystem>
#include <span>
#include <string_view>

namespace troupe {

/// Writes a file that must survive: under a temporary name beside it, synced, renamed, the folder
/// synced. Whoever opens `path` sees the old bytes or the new ones, never a part. Mode 0600.
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path,
                                                 std::string_view bytes);
/// The same, of pieces that follow one another.
[[nodiscard]] Result<void> write_file_atomically(const std::filesystem::path& path,
                                                 std::span<const std::string_view> pieces);

}  // namespace troupe
