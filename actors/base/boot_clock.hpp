// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <chrono>
#include <string>

namespace troupe {

/// Time since this machine was started. Unlike std::chrono::steady_clock it goes on while the
/// machine sleeps, and like it no change of the date touches it: what has been promised "for the
/// next 10 s" is measured with it.
struct BootClock {
  using duration = std::chrono::milliseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<BootClock>;
  static constexpr bool is_steady = true;

  [[nodiscard]] static time_point now();
};

/// A text that differs from start to start of this machine: times of BootClock are comparable only
/// where it is the same.
[[nodiscard]] Result<std::string> boot_id();

}  // namespace troupe
