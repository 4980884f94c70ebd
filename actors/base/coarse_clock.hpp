// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <ctime>

namespace troupe {

/// std::chrono::steady_clock a few milliseconds late, at a fifth of the price: for loops that ask
/// at every turn whether it is time for something that need not be punctual.
[[nodiscard]] inline std::chrono::steady_clock::time_point coarse_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::chrono::steady_clock::time_point(std::chrono::seconds(now.tv_sec) +
                                               std::chrono::nanoseconds(now.tv_nsec));
}

}  // namespace troupe
