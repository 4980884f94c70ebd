// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <utility>

namespace troupe::model {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Millis = std::chrono::milliseconds;

/// Virtual time: things to do, in the order of their times; equal times in the order in which they
/// were planned.
class EventLoop {
 public:
  [[nodiscard]] TimePoint now() const { return now_; }
  void after(Clock::duration wait, std::function<void()> what) {
    queue_.emplace(now_ + wait, std::move(what));
  }
  void run_until(TimePoint end) {
    while (!queue_.empty() && queue_.begin()->first <= end) {
      const auto next = queue_.begin();
      now_ = next->first;
      const auto what = std::move(next->second);
      queue_.erase(next);
      what();
    }
    now_ = end;
  }

 private:
  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> queue_;
};

}  // namespace troupe::model
