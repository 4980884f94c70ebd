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

void Progress::take_step(const Event& event, Time now) {
  step_ = int_field(event, "step").value_or(step_);
  steps_ = int_field(event, "steps").value_or(steps_);
  loss_ = number_field(event, "loss").value_or(loss_);
  if (!first_step_at_) {
    first_step_at_ = now;
    first_step_ = step_;
  }
}

std::string Progress::status(Time now) const {
  std::string text = fmt::format("{}: step {}", job_, step_);
  if (steps_ > 0) text += fmt::format("/{} ({} %)", steps_, 100 * step_ / steps_);
  const double seconds =
      first_step_at_ ? std::chrono::duration<double>(now - *first_step_at_).count() : 0;
  if (step_ > first_step_ && seconds > 0) {
    const double rate = static_cast<double>(step_ - first_step_) / seconds;
    text += fmt::format(", {:.1f} steps/s", rate);
    if (steps_ > step_) text += ", ETA " + duration(static_cast<double>(steps_ - step_) / rate);
  }
  text += fmt::format(", loss {:.4f}", loss_);
  if (accuracy_) text += fmt::format(", test accuracy {:.2f} %", 100 * *accuracy_);
  return text;
}

std::string Progress::line(const std::string& text) const {
  return (terminal_ ? "\r\x1b[K" : "") + text + "\n";
}

std::string Progress::renew(Time now) {
  const auto pause = terminal_ ? std::chrono::steady_clock::duration(renew_every)
                               : std::chrono::steady_clock::duration(print_every);
  if (printed_ && now - *printed_ < pause && step_ != steps_) return {};
  printed_ = now;
  return terminal_ ? "\r\x1b[K" + status(now) : status(now) + "\n";
}

std::string Progress::on_event(const Event& event, Time now) {
  if (event.name == "step") {
    take_step(event, now);
    return renew(now);
  }
  if (event.name == "epoch") {
    accuracy_ = number_field(event, "test_accuracy");
    return {};
  }
  if (event.name == "actor_up") return line(text_field(event, "path") + " is up");
  if (event.name == "actor_down") {
    return line(text_field(event, "path") + " is down: " + text_field(event, "why"));
  }
  if (event.name == "view") {
    return line(fmt::format("{}: {} trainer(s) go on from step {}: {}", job_,
                            int_field(event, "members").value_or(0),
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
