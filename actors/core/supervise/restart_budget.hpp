// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>

namespace troupe {

/// How many restarts a supervisor bears: at most `restarts` within any `window`; one more and it
/// gives up (Erlang/OTP's restart intensity).
class RestartBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  RestartBudget(std::uint32_t restarts, std::chrono::seconds window)
      : restarts_(restarts), window_(window) {}

  /// Takes one restart; false when there is none left.
  [[nodiscard]] bool spend(Time now) {
    while (!spent_.empty() && now - spent_.front() > window_) spent_.pop_front();
    if (spent_.size() >= restarts_) return false;
    spent_.push_back(now);
    return true;
  }

 private:
  std::uint32_t restarts_;
  std::chrono::seconds window_;
  std::deque<Time> spent_;
};

}  // namespace troupe
