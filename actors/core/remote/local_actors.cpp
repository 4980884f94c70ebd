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

ActorNumber LocalActors::expose_foreign(caf::actor_control_block& proxy) {
  const std::lock_guard lock(mutex_);
  if (const auto known = aliases_.find(&proxy); known != aliases_.end()) {
    return known->second.number;
  }
  drop_ended(reachable_);
  drop_ended(
      aliases_, [](const auto& alias) -> const auto& { return alias.proxy; });
  const auto number = next_alias_++;
  const caf::weak_actor_ptr weak(&proxy, true);
  reachable_.emplace(number, weak);
  aliases_.emplace(&proxy, Alias{weak, number});
  return number;
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
