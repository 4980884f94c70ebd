// SPDX-License-Identifier: Apache-2.0
#include "actors/core/lease/store_actor.hpp"

#include "actors/core/reason.hpp"

#include <caf/event_based_actor.hpp>

namespace troupe {

caf::actor spawn_store_actor(caf::actor_system& system, std::unique_ptr<Store> store) {
  const std::shared_ptr<Store> owned = std::move(store);
  return system.spawn<caf::detached>([owned](caf::event_based_actor* self) -> caf::behavior {
    keep_first_cause(*self);
    return {[owned](const StoreCall& call) { call.run(*owned); }};
  });
}

}  // namespace troupe
