// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::verses {

/// One token for each printable ASCII character, and one for where a verse begins and ends.
constexpr std::int64_t edge = 0;
constexpr std::int64_t vocabulary = 1 + ('~' - ' ' + 1);

/// A text's tokens, of its first `longest` characters; what is not printable ASCII becomes '?'.
[[nodiscard]] std::vector<std::int64_t> tokens_of(const std::string& text, std::size_t longest);

/// The non-empty lines of a file, as many as 16 MiB hold.
[[nodiscard]] Result<std::vector<std::string>> read_lines(const std::string& file);

/// The verses of the New Testament, as the program `bible` (Debian's bible-kjv) prints them,
/// without their numbers. `command` is what the shell is to run instead, for tests.
[[nodiscard]] Result<std::vector<std::string>> print_verses(
    const std::string& command = "bible -f mat1:1-rev22:21");

}  // namespace troupe::verses
