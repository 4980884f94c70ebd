// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/lease/lease_keeper.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <atomic>
#include <memory>
#include <string>

namespace troupe {

/// Until when its holder may act, for any thread to look at right before it does something: a
/// process that was stopped and goes on finds out here, before any message reaches it.
class LeaseTerm {
 public:
  [[nodiscard]] bool holds() const { return BootClock::now() < until(); }
  [[nodiscard]] BootClock::time_point until() const {
    return BootClock::time_point(Millis(until_));
  }
  void set(BootClock::time_point until) { until_ = until.time_since_epoch().count(); }

 private:
  std::atomic<Millis::rep> until_{0};
};

// What a keeper tells its client.

struct LeaseHeld {  ///< act; put lease.generation into the fence of whatever you write
  using actor_message = void;
  Lease lease;
  std::shared_ptr<const LeaseTerm> term;
};
struct LeaseStop {  ///< come to a stop, then send `LeaseStopped`
  using actor_message = void;
  Lease lease;
  Error why;
};
struct LeaseWaiting {  ///< not had yet, and why: who holds it, or what is wrong with the store
  using actor_message = void;
  std::string name;
  Error why;
};
struct LeaseEnded {  ///< the answer to `LeaseEnd`, once the lease is given back
  using actor_message = void;
  std::string name;
};

// What the client tells the keeper.

struct LeaseStopped {  ///< I do not act any more; the lease may go to another at once
  using actor_message = void;
};
struct LeaseEnd {  ///< I want it no more; answered by `LeaseStop` where it is held
  using actor_message = void;
};

/// Keeps the lease that `client` wishes, through a store actor. It ends after `LeaseEnded`. When
/// the client ends without a word, the keeper ends too, and the lease runs out by itself: what the
/// client had started may still be at work until then.
[[nodiscard]] caf::actor spawn_lease_keeper(caf::actor_system& system, const caf::actor& store,
                                            LeaseWish wish, const caf::actor& client);

}  // namespace troupe
