// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/boot_clock.hpp"
#include "actors/core/lease.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

// How a lease is got and kept, without store, thread or clock.
//
//   waiting --Acquire--> holding --Stop--> stopping --client has stopped, Release--> waiting
//
// What is held ends `ttl` after the moment BEFORE the last successful request was sent. The holder
// is told to stop `margin` earlier, so that it has that long to come to a stop. Nothing is tried
// again before the client has said that it has stopped: on one node there are never two that act.

namespace troupe {

struct LeaseWish {
  std::string name;
  std::string owner;  ///< this life of this node: "host-a/17"
  Millis ttl = default_lease_ttl;

  [[nodiscard]] Millis renew_after() const { return ttl / 3; }
  [[nodiscard]] Millis retry_after() const { return ttl / 10; }  ///< a renewal that failed
  [[nodiscard]] Millis ask_again_after() const { return ttl / 5; }
  [[nodiscard]] Millis margin() const { return ttl / 5; }
};

namespace keeper_event {
struct Timer {};  ///< the time of the last `WakeAt` has come; early or too often does no harm
struct Granted {  ///< `Acquire` succeeded
  Lease lease;
};
struct Renewed {};   ///< `Renew` succeeded
struct Released {};  ///< `Release` was tried; whether it succeeded does not matter
struct Failed {      ///< `Acquire` or `Renew` did not succeed
  Error why;
};
struct ClientStopped {};  ///< it does not act any more, whether it was told to or not
struct End {};            ///< the client does not want the lease any more
}  // namespace keeper_event
using KeeperEvent = std::variant<keeper_event::Timer, keeper_event::Granted, keeper_event::Renewed,
                                 keeper_event::Released, keeper_event::Failed,
                                 keeper_event::ClientStopped, keeper_event::End>;

namespace keeper_effect {
struct Acquire {};
struct Renew {
  Lease lease;
};
struct Release {
  Lease lease;
};
struct Have {  ///< act, until `until` unless told otherwise
  Lease lease;
  BootClock::time_point until;
};
struct Extended {  ///< act until then
  BootClock::time_point until;
};
struct Stop {  ///< come to a stop and say so
  Lease lease;
  Error why;
};
struct Waiting {  ///< not had, and why; said when the reason changes
  Error why;
};
struct WakeAt {
  BootClock::time_point time;
};
struct Ended {};  ///< nothing comes any more
}  // namespace keeper_effect
using KeeperEffect =
    std::variant<keeper_effect::Acquire, keeper_effect::Renew, keeper_effect::Release,
                 keeper_effect::Have, keeper_effect::Extended, keeper_effect::Stop,
                 keeper_effect::Waiting, keeper_effect::WakeAt, keeper_effect::Ended>;
using KeeperEffects = std::vector<KeeperEffect>;

/// Keeps one lease for one client. `Acquire`, `Renew` and `Release` are answered by one event each,
/// and there is never more than one of them on its way. Owned by one keeper actor.
class LeaseKeeper {
 public:
  explicit LeaseKeeper(LeaseWish wish) : wish_(std::move(wish)) {}

  KeeperEffects start(BootClock::time_point now);
  KeeperEffects step(const KeeperEvent& event, BootClock::time_point now);

  [[nodiscard]] const LeaseWish& wish() const { return wish_; }

 private:
  using Time = BootClock::time_point;
  enum class Phase { waiting, holding, stopping, ended };

  void on(const keeper_event::Timer&, Time now);
  void on(const keeper_event::Granted& granted, Time now);
  void on(const keeper_event::Renewed&, Time now);
  void on(const keeper_event::Released&, Time now);
  void on(const keeper_event::Failed& failed, Time now);
  void on(const keeper_event::ClientStopped&, Time now);
  void on(const keeper_event::End&, Time now);

  template <class Request>
  void ask(Request request, Time now);
  void wait(Time now, std::optional<Error> why);
  void stop(Error why);
  void give_back(Time now);
  void look_at_clock(Time now);
  [[nodiscard]] std::optional<Time> next_wake() const;
  KeeperEffects take(Time now);

  LeaseWish wish_;
  Phase phase_ = Phase::waiting;
  bool asking_ = false;     // a request is on its way,
  Time asked_;              // and was sent then
  bool ending_ = false;     // the client does not want the lease any more
  bool lost_ = false;       // the store has said that the lease is gone
  bool give_back_ = false;  // as soon as the request on its way is answered
  Lease lease_;
  Time until_;                    // the lease that we hold may be counted on
  Time next_;                     // something is to be asked then
  std::optional<Error> trouble_;  // why renewals fail, since the last that did not
  std::string said_;              // the last reason to wait
  KeeperEffects effects_;
};

}  // namespace troupe
