// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace troupe {

/// Steps a second over the last seconds, from the numbers of the steps that were done. A value.
class StepRate {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds window{10};
  static constexpr std::chrono::milliseconds grain{200};  ///< no samples nearer than that

  /// A step that is not after the last one begins anew: some steps are done again.
  void add(std::uint64_t step, Time now) {
    if (!samples_.empty() && step < step_) samples_.clear();
    step_ = step;
    last_ = now;
    if (samples_.empty() || now - samples_.back().at >= grain) samples_.push_back({now, step});
    while (samples_.size() > 2 && now - samples_[1].at > window) samples_.pop_front();
  }

  /// Nothing before two steps were seen; 0 when none came for as long as the window.
  [[nodiscard]] std::optional<double> per_second(Time now) const {
    if (samples_.empty() || step_ == samples_.front().step) return std::nullopt;
    if (now - last_ > window) return 0;
    const std::chrono::duration<double> took = last_ - samples_.front().at;
    return static_cast<double>(step_ - samples_.front().step) / took.count();
  }

  [[nodiscard]] std::uint64_t step() const { return step_; }

 private:
  struct Sample {
    Time at;
    std::uint64_t step;
  };
  std::deque<Sample> samples_;
  std::uint64_t step_ = 0;
  Time last_{};
};

}  // namespace troupe
