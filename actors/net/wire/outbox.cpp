// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/outbox.hpp"

#include "actors/net/wire/credits.hpp"

#include <utility>

namespace troupe {
namespace {

std::optional<std::chrono::steady_clock::time_point> due_of(const Frame& frame) {
  if (frame.header.remaining_ms == 0) return std::nullopt;
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(frame.header.remaining_ms);
}

}  // namespace

std::optional<Charge> Outbox::charge(const NodeId& to, const Frame& frame) {
  if (last_ == nullptr || last_->peer() != to) {
    auto& backlog = backlogs_[to];
    if (backlog == nullptr) backlog = std::make_unique<Backlog>(to);
    last_ = backlog.get();
  }
  if (needs_credit(frame.header) && last_->full()) return std::nullopt;
  return Charge(*last_, frame.size());
}

bool Outbox::put(const NodeId& to, Frame frame) {
  const auto due = due_of(frame);
  const std::lock_guard lock(mutex_);
  auto charged = charge(to, frame);
  if (!charged) return false;
  frames_.push_back({std::move(frame), std::move(*charged), due});
  wake_if_asleep();
  return true;
}

std::optional<Outgoing> Outbox::pass(const NodeId& to, Frame frame) {
  const auto due = due_of(frame);
  const std::lock_guard lock(mutex_);
  auto charged = charge(to, frame);
  if (!charged) return std::nullopt;
  return Outgoing{std::move(frame), std::move(*charged), due};
}

void Outbox::call(Call call) {
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(call));
  calls_wait_ = true;
  wake_if_asleep();
}

void Outbox::drop(const NodeId& id, const Error& why) {
  const std::lock_guard lock(mutex_);
  drops_.emplace_back(id, why);
  drops_wait_ = true;
  wake_if_asleep();
}

void Outbox::wake() {
  const std::lock_guard lock(mutex_);
  wake_if_asleep();
}

void Outbox::wake_if_asleep() {
  wanted_ = true;
  if (!filled_.load(std::memory_order_relaxed)) filled_ = true;
  if (std::exchange(asleep_, false)) wake_.signal();
}

void Outbox::take(std::vector<Outgoing>& frames) {
  if (!filled_) return;
  const std::lock_guard lock(mutex_);
  filled_ = false;
  frames.swap(frames_);
}

std::vector<Outbox::Call> Outbox::take_calls() {
  if (!calls_wait_) return {};
  const std::lock_guard lock(mutex_);
  calls_wait_ = false;
  return std::exchange(calls_, {});
}

std::vector<std::pair<NodeId, Error>> Outbox::take_drops() {
  if (!drops_wait_) return {};
  const std::lock_guard lock(mutex_);
  drops_wait_ = false;
  return std::exchange(drops_, {});
}

bool Outbox::may_sleep() {
  const std::lock_guard lock(mutex_);
  asleep_ = frames_.empty() && calls_.empty() && drops_.empty() && !wanted_;
  return asleep_;
}

void Outbox::awake() {
  const std::lock_guard lock(mutex_);
  asleep_ = wanted_ = false;
}

void Outbox::forget(const NodeId& peer) {
  const std::lock_guard lock(mutex_);
  std::erase_if(retired_, [](const auto& backlog) { return backlog->empty(); });
  const auto it = backlogs_.find(peer);
  if (it == backlogs_.end()) return;
  retired_.push_back(std::move(it->second));
  backlogs_.erase(it);
  last_ = nullptr;
}

}  // namespace troupe
