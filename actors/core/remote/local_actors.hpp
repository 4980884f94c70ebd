// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <caf/actor_control_block.hpp>

#include <mutex>
#include <set>
#include <unordered_map>

namespace troupe {

/// The actors of this node that others may reach: those that were named to another node or have
/// sent one something. Safe from any thread.
class LocalActors {
 public:
  struct Found {
    caf::strong_actor_ptr actor;  ///< null: there is none, or it has ended
    bool inlined = false;         ///< its messages are handled on the transport's thread
  };

  /// Does not keep the actor alive.
  void expose(caf::actor_control_block& actor);
  /// Makes the actor known under a number that is none of CAF's, too.
  void serve(ActorNumber number, caf::actor_control_block& actor);
  /// The same for an actor of another node, for which this one sends something on to a third (an
  /// actor that delegates a request): answers come to this node, under the number that is given.
  /// Its own number would be that of some actor here.
  [[nodiscard]] ActorNumber expose_foreign(caf::actor_control_block& proxy);
  void run_inline(ActorNumber actor);
  /// The actor has ended.
  void forget(ActorNumber actor);

  [[nodiscard]] Found find(ActorNumber actor);
  [[nodiscard]] bool is_inlined(ActorNumber actor);

 private:
  struct Alias {
    caf::weak_actor_ptr proxy;
    ActorNumber number;
  };
  static constexpr ActorNumber first_alias = ActorNumber{1} << 63;  // CAF counts from 1

  std::mutex mutex_;
  std::unordered_map<ActorNumber, caf::weak_actor_ptr> reachable_;
  std::unordered_map<caf::actor_control_block*, Alias> aliases_;
  ActorNumber next_alias_ = first_alias;
  std::set<ActorNumber> inlined_;
};

}  // namespace troupe
