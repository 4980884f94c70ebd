// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/inline_unit.hpp"

#include "actors/base/log.hpp"

#include <caf/actor_system.hpp>
#include <caf/local_actor.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <bit>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t messages_at_a_time = 16;

}  // namespace

InlineUnit::~InlineUnit() {
  for (auto* job : jobs_) caf::intrusive_ptr_release(job);
}

void InlineUnit::exec_later(caf::resumable* job) {
  if (running_) return system().scheduler().enqueue(job);
  jobs_.push_back(job);
}

void InlineUnit::run() {
  if (jobs_.empty()) return;
  running_ = true;
  for (auto* job : jobs_) resume(job);
  jobs_.clear();
  running_ = false;
}

void InlineUnit::resume(caf::resumable* job) {
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = job->resume(this, messages_at_a_time);
  const auto took = std::chrono::steady_clock::now() - start;
  if (took > patience && std::has_single_bit(++slow_)) {
    log_warn("a handler in the inline lane took {} us and held up all traffic ({} so far)",
             std::chrono::duration_cast<std::chrono::microseconds>(took).count(), slow_);
  }
  switch (outcome) {
    case caf::resumable::resume_later:
      return system().scheduler().enqueue(job);
    case caf::resumable::done:
    case caf::resumable::awaiting_message:
      return caf::intrusive_ptr_release(job);
    case caf::resumable::shutdown_execution_unit:
      return;
  }
}

}  // namespace troupe
