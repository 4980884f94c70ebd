// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/local_actors.hpp"

#include "actors/core/remote/drop_ended.hpp"

namespace troupe {

void LocalActors::expose(caf::actor_control_block& actor) {
  const std::lock_guard lock(mutex_);
  drop_ended(reachable_);
  reachable_.try_emplace(actor.id(), &actor, true);
}

void LocalActors::serve(ActorNumber number, caf::actor_control_block& actor) {
  const std::lock_guard lock(mutex_);
  reachable_.insert_or_assign(number, caf::weak_actor_ptr(&actor, true));
}

void LocalActors::run_inline(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  inlined_.insert(actor);
}

void LocalActors::forget(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  reachable_.erase(actor);
  inlined_.erase(actor);
}

LocalActors::Found LocalActors::find(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  const auto it = reachable_.find(actor);
  if (it == reachable_.end()) return {};
  return {it->second.lock(), inlined_.contains(actor)};
}

bool LocalActors::is_inlined(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  return inlined_.contains(actor);
}

}  // namespace troupe
