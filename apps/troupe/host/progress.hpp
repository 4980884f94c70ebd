// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// What a person sees of a running job: one line that renews itself on a terminal, plain lines now
/// and then elsewhere, and every elastic event. Makes texts only: give it events, print what it
/// returns.
class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Progress(std::string job, bool terminal, Time start)
      : job_(std::move(job)), terminal_(terminal), start_(start) {}

  /// What to write to stderr because of this event; often nothing.
  [[nodiscard]] std::string on_event(const Event& event, Time now);

 private:
  [[nodiscard]] std::string status(Time now) const;
  [[nodiscard]] std::string line(const std::string& text) const;
  [[nodiscard]] std::string renew(Time now);
  void take_step(const Event& event, Time now);

  std::string job_;
  bool terminal_;
  Time start_;
  std::optional<Time> printed_;
  std::optional<Time> first_step_at_;
  std::int64_t first_step_ = 0;
  std::int64_t step_ = 0;
  std::int64_t steps_ = 0;
  double loss_ = 0;
  std::optional<double> accuracy_;
};

/// The value of a field as it is, or nothing.
[[nodiscard]] std::optional<std::int64_t> int_field(const Event& event, const std::string& name);
[[nodiscard]] std::optional<double> number_field(const Event& event, const std::string& name);
[[nodiscard]] std::string text_field(const Event& event, const std::string& name);

}  // namespace troupe
