// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

constexpr auto renew_every = std::chrono::milliseconds(100);
constexpr auto print_every = std::chrono::seconds(2);

const Event::Value* find(const Event& event, const std::string& name) {
  const auto it = std::find_if(event.fields.begin(), event.fields.end(),
                               [&](const auto& field) { return field.first == name; });
  return it == event.fields.end() ? nullptr : &it->second;
}

std::string duration(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 100) return fmt::format("{} s", s);
  return s < 6000 ? fmt::format("{} min", (s + 30) / 60) : fmt::format("{} h", (s + 1800) / 3600);
}

}  // namespace

std::optional<std::int64_t> int_field(const Event& event, const std::string& name) {
  const auto* value = find(event, name);
  if (value == nullptr || !std::holds_alternative<std::int64_t>(*value)) return std::nullopt;
  return std::get<std::int64_t>(*value);
}

std::optional<double> number_field(const Event& event, const std::string& name) {
  const auto* value = find(event, name);
  if (value != nullptr && std::holds_alternative<double>(*value)) return std::get<double>(*value);
  if (const auto whole = int_field(event, name)) return static_cast<double>(*whole);
  return std::nullopt;
}

std::string text_field(const Event& event, const std::string& name) {
  const auto* value = find(event, name);
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  return text == nullptr ? std::string() : *text;
}

std::string Progress::name_of(const std::string& path) const {
  const auto above = "/jobs/" + job_ + "/";
  if (!several_ || path.rfind(above, 0) != 0) return job_;
  return job_ + "/" + path.substr(above.size());
}

Progress::Group& Progress::group_of(const Event& event) {
  const auto path = text_field(event, "path");
  const auto it = std::find_if(groups_.begin(), groups_.end(),
                               [&](const Group& group) { return group.path == path; });
  if (it != groups_.end()) return *it;
  groups_.push_back({.path = path});
  return groups_.back();
}

void Progress::take_step(Group& group, const Event& event, Time now) {
  group.step = int_field(event, "step").value_or(group.step);
  group.steps = int_field(event, "steps").value_or(group.steps);
  group.loss = number_field(event, "loss").value_or(group.loss);
  if (!group.first_step_at) {
    group.first_step_at = now;
    group.first_step = group.step;
  }
}

std::string Progress::status(const Group& group, Time now) {
  std::string text = fmt::format("step {}", group.step);
  if (group.steps > 0) {
    text += fmt::format("/{} ({} %)", group.steps, 100 * group.step / group.steps);
  }
  const double seconds =
      group.first_step_at ? std::chrono::duration<double>(now - *group.first_step_at).count() : 0;
  if (group.step > group.first_step && seconds > 0) {
    const double rate = static_cast<double>(group.step - group.first_step) / seconds;
    text += fmt::format(", {:.1f} steps/s", rate);
    if (group.steps > group.step) {
      text += ", ETA " + duration(static_cast<double>(group.steps - group.step) / rate);
    }
  }
  text += fmt::format(", loss {:.4f}", group.loss);
  if (group.accuracy) text += fmt::format(", test accuracy {:.2f} %", 100 * *group.accuracy);
  return text;
}

std::string Progress::status(Time now) const {
  std::string text;
  for (const auto& group : groups_) {
    text += (text.empty() ? "" : "; ") + name_of(group.path) + ": " + status(group, now);
  }
  return text.empty() ? job_ + ": done" : text;
}

std::string Progress::line(const std::string& text) const {
  return (terminal_ ? "\r\x1b[K" : "") + text + "\n";
}

std::string Progress::renew(const Group& group, Time now) {
  const auto pause = terminal_ ? std::chrono::steady_clock::duration(renew_every)
                               : std::chrono::steady_clock::duration(print_every);
  if (printed_ && now - *printed_ < pause && group.step != group.steps) return {};
  printed_ = now;
  return terminal_ ? "\r\x1b[K" + status(now) : status(now) + "\n";
}

std::string Progress::on_event(const Event& event, Time now) {
  if (event.name == "step") {
    auto& group = group_of(event);
    take_step(group, event, now);
    return renew(group, now);
  }
  if (event.name == "epoch") {
    group_of(event).accuracy = number_field(event, "test_accuracy");
    return {};
  }
  if (event.name == "actor_up") return line(text_field(event, "path") + " is up");
  if (event.name == "actor_down") {
    return line(text_field(event, "path") + " is down: " + text_field(event, "why"));
  }
  if (event.name == "actor_waits") {
    return line(text_field(event, "path") + " " + text_field(event, "what"));
  }
  if (event.name == "view") {
    return line(fmt::format("{}: {} trainer(s) go on from step {}: {}",
                            name_of(text_field(event, "path")),
                            int_field(event, "members").value_or(0),
                            int_field(event, "step").value_or(0), text_field(event, "why")));
  }
  if (event.name == "resume") {
    return line(fmt::format("{}: goes on from step {}, {}", name_of(text_field(event, "path")),
                            int_field(event, "step").value_or(0), text_field(event, "folder")));
  }
  if (event.name == "checkpoint_refused") {
    return line(name_of(text_field(event, "path")) +
                ": a checkpoint is not used: " + text_field(event, "why"));
  }
  if (event.name == "checkpoint_missed") {
    return line(fmt::format("{}: no checkpoint of step {}, the job goes on: {}",
                            name_of(text_field(event, "path")),
                            int_field(event, "step").value_or(0), text_field(event, "why")));
  }
  if (event.name == "waiting") return line(job_ + ": waiting for " + text_field(event, "what"));
  if (event.name == "done") {
    return line(status(now) +
                fmt::format(", {:.1f} s", std::chrono::duration<double>(now - start_).count()));
  }
  return {};
}

}  // namespace troupe
