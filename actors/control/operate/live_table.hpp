// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/actor_table.hpp"
#include "actors/core/event.hpp"

#include <mutex>
#include <utility>

namespace troupe {

/// The actor table of a running node: supervisors and leaders write it, whoever asks reads it, from
/// any thread. What happens to an actor also becomes a line of its log.
class LiveTable final : public ActorObserver {
 public:
  void expect(const ActorSeat& seat) override;
  void up(const ActorLife& life) override;
  void down(const std::string& path, const Error& why, bool comes_back) override;
  void waiting(const std::string& path, const std::string& what) override;

  /// Takes from a job's events what belongs in the table: steps, and for what it waits.
  void on_event(const Event& event);

  /// `use(const ActorTable&)` under the lock; keep it short, and keep no pointer.
  template <class Use>
  auto read(Use&& use) const {
    const std::lock_guard lock(mutex_);
    return std::forward<Use>(use)(table_);
  }

 private:
  mutable std::mutex mutex_;
  ActorTable table_;
};

}  // namespace troupe
