// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace troupe::digits {

constexpr std::size_t pixels = 64;    ///< 8 rows of 8
constexpr std::uint8_t darkest = 16;  ///< pixel values are 0 .. 16
constexpr std::size_t expected_rows = 1797;

struct Digit {
  std::array<std::uint8_t, pixels> image{};
  std::uint8_t label = 0;
};

/// Reads the UCI test set of handwritten digits: gzipped lines of 64 pixels and a label, separated
/// by commas. Every error names the file, and the line where there is one.
Result<std::vector<Digit>> read_digits(const std::string& file);

}  // namespace troupe::digits
