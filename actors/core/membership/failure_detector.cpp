// SPDX-License-Identifier: Apache-2.0
//
// Hayashibara, Defago, Yared, Katayama: The phi Accrual Failure Detector (SRDS 2004). Intervals are
// taken to be normally distributed; phi is the negative logarithm of the distribution's upper tail
// at the present silence. As in Akka, a pause that a busy machine may make is added to the mean and
// the deviation has a lower limit, for intervals from an idle machine hardly differ.
#include "actors/core/membership/failure_detector.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

double in_ms(FailureDetector::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

void FailureDetector::heard(Clock::time_point now) {
  const double interval = std::max(0.0, in_ms(now - heard_));
  heard_ = std::max(heard_, now);
  intervals_.push_back(interval);
  sum_ += interval;
  sum_of_squares_ += interval * interval;
  if (intervals_.size() <= options_.window) return;
  sum_ -= intervals_.front();
  sum_of_squares_ -= intervals_.front() * intervals_.front();
  intervals_.pop_front();
}

double FailureDetector::phi(Clock::time_point now) const {
  double mean = in_ms(options_.expected);
  double deviation = in_ms(options_.min_deviation);
  if (!intervals_.empty()) {
    const auto count = static_cast<double>(intervals_.size());
    // Never below what is expected: signs may come in bursts.
    const double measured = sum_ / count;
    mean = std::max(mean, measured);
    const double variance = std::max(0.0, sum_of_squares_ / count - measured * measured);
    deviation = std::max(deviation, std::sqrt(variance));
  }
  mean += in_ms(options_.acceptable_pause);
  const double distance = (in_ms(silence(now)) - mean) / deviation;
  return -std::log10(0.5 * std::erfc(distance / std::sqrt(2.0)));
}

bool FailureDetector::suspects(Clock::time_point now) const {
  return silence(now) >= options_.longest_silence || phi(now) >= options_.threshold;
}

}  // namespace troupe
