// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/lease.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <functional>
#include <memory>

namespace troupe {

/// Something to do with a store; the result goes where `run` sends it.
struct StoreCall {
  using actor_message = void;
  std::function<void(Store&)> run;
};

/// A thread of its own that owns a store and carries out `StoreCall`s one after the other. Give
/// leases another one than jobs: a renewal must not wait behind large values.
[[nodiscard]] caf::actor spawn_store_actor(caf::actor_system& system, std::unique_ptr<Store> store);

}  // namespace troupe
