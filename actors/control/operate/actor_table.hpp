// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/step_rate.hpp"
#include "actors/core/actor_observer.hpp"
#include "messages/control.capnp.h"

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

using ActorState = msg::ActorState;

/// What is known of an actor now, or of a life that has ended.
struct ActorEntry {
  ActorSeat seat;
  ActorLife life;  ///< empty while it does not live
  ActorState state = ActorState::STARTING;
  std::chrono::steady_clock::time_point since;  ///< in this state
  std::chrono::steady_clock::time_point up_at;  ///< when this life began
  std::uint32_t restarts = 0;
  StepRate rate;
  std::string waits_for;
  std::string cause;  ///< why it ended, or ended the last time
  std::chrono::milliseconds lived{0};
  std::uint64_t serial = 0;  ///< in the order of ending; of ended ones only
};

/// The actors that a node looks after, and the last ones that ended. A value: time is a parameter;
/// whoever shares it between threads guards it (LiveTable).
class ActorTable {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Remembers the last `most_ended` lives that ended.
  explicit ActorTable(std::size_t most_ended = 1000) : most_ended_(most_ended) {}

  void expect(const ActorSeat& seat, Time now);
  void up(const ActorLife& life, Time now);
  /// Who does not come back is listed among the ended only; with a job's own supervisor goes all
  /// that is below it.
  void down(const std::string& path, const Error& why, bool comes_back, Time now);
  void waiting(const std::string& path, const std::string& what, Time now);
  void stepped(const std::string& path, std::uint64_t step, Time now);

  [[nodiscard]] const ActorEntry* find(const std::string& path) const;

  struct Page {
    std::vector<const ActorEntry*> entries;  ///< until the table changes
    std::string next;                        ///< `after` of the next page; empty: that was all
  };
  /// At most `limit` actors whose path is `prefix` or lies below it, in the order of paths.
  [[nodiscard]] Page list(const std::string& prefix, const std::string& after,
                          std::size_t limit) const;
  /// The same of the ended ones, the last first.
  [[nodiscard]] Page list_ended(const std::string& prefix, const std::string& after,
                                std::size_t limit) const;

  struct Totals {
    std::map<ActorState, std::uint64_t> by_state;  ///< without nodes
    std::uint64_t nodes = 0;                       ///< others that answer such questions
    std::uint64_t restarts = 0;                    ///< since the node started
    std::uint64_t failures = 0;                    ///< lives that did not end normally
  };
  [[nodiscard]] Totals totals() const;

 private:
  ActorEntry& entry(const std::string& path, Time now);
  void bury(const ActorEntry& entry, const Error& why, Time now);
  void bury_below(const std::string& path, const Error& why, Time now);

  std::map<std::string, ActorSeat> seats_;  ///< also of those that do not live any more
  std::map<std::string, ActorEntry> entries_;
  std::deque<ActorEntry> ended_;
  std::size_t most_ended_;
  std::uint64_t serial_ = 0;
  std::uint64_t restarts_ = 0;
  std::uint64_t failures_ = 0;
};

/// Where the table has other nodes: "/nodes/NAME".
constexpr std::string_view nodes_path = "/nodes";

/// Whether a path is `prefix` or lies below it; every path lies below an empty one.
[[nodiscard]] bool is_below(std::string_view path, std::string_view prefix);

}  // namespace troupe
