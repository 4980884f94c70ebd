// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace troupe {

/// Which actors of ours one other node monitors, and which of its actors are linked to which of
/// ours. A tie that is taken back stays until one of its actors ends, as the observer that was made
/// for it does: so there is one observer for a tie, however often a peer makes it and takes it
/// back. Safe from any thread.
class Ties {
 public:
  static constexpr std::size_t max_links = 65536;  // a link keeps a proxy

  struct Link {
    ActorNumber theirs;
    ActorNumber ours;

    friend auto operator<=>(const Link&, const Link&) = default;
  };

  /// They want to know when this actor ends. True: for the first time, so somebody must watch it.
  [[nodiscard]] bool monitor(ActorNumber ours);
  void demonitor(ActorNumber ours);
  /// It has ended. Do they want to know?
  [[nodiscard]] bool end_monitor(ActorNumber ours);
  void forget_monitors();

  /// Makes a link or takes it back, if it is there; false: it is not.
  [[nodiscard]] bool set(const Link& link, bool wanted);
  /// Adds one; false: there are too many.
  [[nodiscard]] bool add(const Link& link);
  /// Their actor has ended. Shall ours?
  [[nodiscard]] bool end(const Link& link);

 private:
  std::mutex mutex_;
  std::map<ActorNumber, bool> monitored_;  ///< and whether they still want to know
  std::map<Link, bool> links_;             ///< and whether they still hold
};

}  // namespace troupe
