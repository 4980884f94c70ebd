// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// What a person sees of a running job: one line that renews itself on a terminal, plain lines now
/// and then elsewhere, and every elastic event. A job of several groups has one line with a part
/// for each. Makes texts only: give it events, print what it
/// returns.
class Progress {
 public:
  using Time = std::chrono::steady_clock::time_point;

  Progress(std::string job, bool terminal, Time start, std::size_t groups = 1)
      : job_(std::move(job)), terminal_(terminal), start_(start), several_(groups > 1) {}

  /// What to write to stderr because of this event; often nothing.
  [[nodiscard]] std::string on_event(const Event& event, Time now);

  /// What a group is called: by its job where it is the only one, else "job/path".
  [[nodiscard]] std::string name_of(const std::string& path) const;

 private:
  struct Group {
    std::string path;
    std::optional<Time> first_step_at;
    std::int64_t first_step = 0;
    std::int64_t step = 0;
    std::int64_t steps = 0;
    double loss = 0;
    std::optional<double> accuracy;
  };
  Group& group_of(const Event& event);
  [[nodiscard]] static std::string status(const Group& group, Time now);
  [[nodiscard]] std::string status(Time now) const;
  [[nodiscard]] std::string line(const std::string& text) const;
  [[nodiscard]] std::string renew(const Group& group, Time now);
  static void take_step(Group& group, const Event& event, Time now);

  std::string job_;
  bool terminal_;
  Time start_;
  std::optional<Time> printed_;
  bool several_;
  std::vector<Group> groups_;  ///< in the order in which they were heard of
};

/// The value of a field as it is, or nothing.
[[nodiscard]] std::optional<std::int64_t> int_field(const Event& event, const std::string& name);
[[nodiscard]] std::optional<double> number_field(const Event& event, const std::string& name);
[[nodiscard]] std::string text_field(const Event& event, const std::string& name);

}  // namespace troupe
