// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace troupe {

/// A number of bytes; a type of its own so that it is never mistaken for a count of elements.
struct Bytes {
  std::uint64_t count = 0;

  friend auto operator<=>(const Bytes&, const Bytes&) = default;
};

constexpr Bytes operator""_B(unsigned long long n) { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }

using Millis = std::chrono::milliseconds;
using Seconds = std::chrono::duration<double>;

}  // namespace troupe
