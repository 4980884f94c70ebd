// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/units.hpp"

#include <chrono>
#include <cstddef>
#include <deque>

namespace troupe {

struct DetectorOptions {
  double threshold = 8;           ///< of phi: 8 is one mistake in 10^8 signs of life
  Millis expected{600};           ///< between two signs of life, before any has come
  Millis min_deviation{100};      ///< however regular they have come
  Millis acceptable_pause{2000};  ///< a busy machine may be as late as that
  Millis longest_silence{4000};   ///< suspicious whatever has been before
  std::size_t window = 100;       ///< intervals that are remembered
};

/// How suspicious another node's silence is, from the intervals between its signs of life: the
/// phi-accrual failure detector. A value without a clock: times are parameters, and never go back.
class FailureDetector {
 public:
  using Clock = std::chrono::steady_clock;

  FailureDetector(DetectorOptions options, Clock::time_point now)
      : options_(options), heard_(now) {}

  void heard(Clock::time_point now);
  /// This node itself did not run for so long: silence of that time says nothing.
  void excuse(Clock::duration pause) { heard_ += pause; }

  /// -log10 of the chance that a node whose signs of life have come as they have is alive and has
  /// only been silent since the last one.
  [[nodiscard]] double phi(Clock::time_point now) const;
  [[nodiscard]] bool suspects(Clock::time_point now) const;
  [[nodiscard]] Clock::duration silence(Clock::time_point now) const { return now - heard_; }

 private:
  DetectorOptions options_;
  Clock::time_point heard_;
  std::deque<double> intervals_;  ///< in ms
  double sum_ = 0;
  double sum_of_squares_ = 0;
};

}  // namespace troupe
