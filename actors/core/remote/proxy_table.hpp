// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <caf/actor_control_block.hpp>

#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace troupe {

/// The proxies of one other node's actors. It does not keep them, but for those that somebody
/// watches: who does must hear of their end. Safe from any thread.
class ProxyTable {
 public:
  [[nodiscard]] caf::strong_actor_ptr find(ActorNumber actor);
  /// Adds a proxy; gives the one that was there already, if there was one.
  [[nodiscard]] caf::strong_actor_ptr add(ActorNumber actor, const caf::strong_actor_ptr& proxy);
  void watch(ActorNumber actor, caf::strong_actor_ptr proxy);
  void unwatch(ActorNumber actor);
  /// All that are still there; the table is empty afterwards.
  [[nodiscard]] std::vector<caf::strong_actor_ptr> take_all();

 private:
  using Proxies = std::unordered_map<ActorNumber, caf::weak_actor_ptr>;

  std::mutex mutex_;
  Proxies proxies_;
  std::map<ActorNumber, caf::strong_actor_ptr> watched_;
};

}  // namespace troupe
