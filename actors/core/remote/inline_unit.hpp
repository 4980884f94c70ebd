// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/execution_unit.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace caf {
class actor_system;
}

namespace troupe {

/// The inline lane: runs actors on the transport's thread, right after the frames that woke them
/// and without a thread in between. For short control handlers only; a watchdog says which one
/// takes longer than a millisecond, for all other traffic waits for it meanwhile. Used from that
/// thread only.
class InlineUnit final : public caf::execution_unit {
 public:
  static constexpr auto patience = std::chrono::milliseconds(1);

  explicit InlineUnit(caf::actor_system& system) : caf::execution_unit(&system) {}
  ~InlineUnit() override;

  /// Frames wake actors of this lane. Whom their handlers wake in turn, or spawn, runs where actors
  /// mostly do: it may take its time, and two that wake each other must not keep this thread.
  void exec_later(caf::resumable* job) override;
  /// Runs what is there; an actor with much to do goes on in the scheduler.
  void run();
  /// How often a handler took longer than it may.
  [[nodiscard]] std::uint64_t slow() const { return slow_; }

 private:
  void resume(caf::resumable* job);

  std::vector<caf::resumable*> jobs_;
  bool running_ = false;
  std::uint64_t slow_ = 0;
};

}  // namespace troupe
