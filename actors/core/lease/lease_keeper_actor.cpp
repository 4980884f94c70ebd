// SPDX-License-Identifier: Apache-2.0
#include "actors/core/lease/lease_keeper_actor.hpp"

#include "actors/core/lease/store_actor.hpp"
#include "actors/core/reason.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <functional>
#include <optional>
#include <utility>

namespace troupe {
namespace {

struct Wake {
  using actor_message = void;
  BootClock::time_point time;
};
/// The answer to the request that is on its way.
struct Answer {
  using actor_message = void;
  KeeperEvent event;
};

struct State {
  std::unique_ptr<LeaseKeeper> keeper;
  caf::actor store;
  caf::actor client;
  std::shared_ptr<LeaseTerm> term;
  std::optional<BootClock::time_point> armed;
  std::optional<Error> store_ended;
  std::optional<KeeperEvent> if_store_ends;  // the answer that its end is
};
using Self = caf::stateful_actor<State>;

template <class T>
KeeperEvent event_of(const Result<T>& result, KeeperEvent good) {
  return result ? std::move(good) : KeeperEvent(keeper_event::Failed{result.error()});
}

/// Has the store's thread do something; what it makes of it comes back as an `Answer`.
void ask_store(Self* self, std::function<KeeperEvent(Store&)> what, KeeperEvent if_store_ends) {
  auto& state = self->state;
  if (state.store_ended) return self->send(self, Answer{std::move(if_store_ends)});
  state.if_store_ends = std::move(if_store_ends);
  const auto me = caf::actor(self);
  self->send(state.store, StoreCall{[me, what = std::move(what)](Store& store) {
               caf::anon_send(me, Answer{what(store)});
             }});
}

KeeperEvent ended_event(const State& state) {
  return keeper_event::Failed{
      state.store_ended.value_or(Error{ErrorCode::unavailable, "the store's actor has ended"})};
}

void carry_out(Self* self, const keeper_effect::Acquire&) {
  const auto wish = self->state.keeper->wish();
  ask_store(
      self,
      [wish](Store& store) -> KeeperEvent {
        auto lease = store.acquire(wish.name, wish.owner, wish.ttl);
        if (!lease) return keeper_event::Failed{lease.error()};
        return keeper_event::Granted{std::move(*lease)};
      },
      ended_event(self->state));
}

void carry_out(Self* self, const keeper_effect::Renew& renew) {
  ask_store(
      self,
      [lease = renew.lease](Store& store) {
        return event_of(store.renew(lease), keeper_event::Renewed{});
      },
      ended_event(self->state));
}

void carry_out(Self* self, const keeper_effect::Release& release) {
  ask_store(
      self,
      [lease = release.lease](Store& store) -> KeeperEvent {
        (void)store.release(lease);  // where it fails the lease runs out
        return keeper_event::Released{};
      },
      keeper_event::Released{});
}

void carry_out(Self* self, const keeper_effect::Have& have) {
  self->state.term = std::make_shared<LeaseTerm>();
  self->state.term->set(have.until);
  self->send(self->state.client, LeaseHeld{have.lease, self->state.term});
}

void carry_out(Self* self, const keeper_effect::Extended& extended) {
  self->state.term->set(extended.until);
}

void carry_out(Self* self, const keeper_effect::Stop& stop) {
  if (stop.why.code == ErrorCode::aborted) self->state.term->set({});
  self->send(self->state.client, LeaseStop{stop.lease, stop.why});
}

void carry_out(Self* self, const keeper_effect::Waiting& waiting) {
  self->send(self->state.client, LeaseWaiting{self->state.keeper->wish().name, waiting.why});
}

void carry_out(Self* self, const keeper_effect::WakeAt& wake) {
  auto& armed = self->state.armed;
  if (armed && *armed <= wake.time) return;
  armed = wake.time;
  self->delayed_send(self, wake.time - BootClock::now(), Wake{wake.time});
}

void carry_out(Self* self, const keeper_effect::Ended&) {
  self->send(self->state.client, LeaseEnded{self->state.keeper->wish().name});
  self->quit();
}

void carry_out_all(Self* self, const KeeperEffects& effects) {
  for (const auto& effect : effects) {
    std::visit([self](const auto& what) { carry_out(self, what); }, effect);
  }
}

void take_in(Self* self, const KeeperEvent& event) {
  carry_out_all(self, self->state.keeper->step(event, BootClock::now()));
}

void on_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  if (down.source == state.client) return self->quit();
  state.store_ended =
      Error{ErrorCode::unavailable, "the store's actor has ended: " + from_caf(down.reason).what};
  if (!state.if_store_ends) return;
  const auto event = *std::exchange(state.if_store_ends, {});
  const bool request_failed = std::holds_alternative<keeper_event::Failed>(event);
  take_in(self, request_failed ? ended_event(state) : event);
}

caf::behavior run(Self* self, const caf::actor& store, const LeaseWish& wish,
                  const caf::actor& client) {
  keep_first_cause(*self);
  self->set_down_handler([=](caf::down_msg& down) { on_down(self, down); });
  self->state.keeper = std::make_unique<LeaseKeeper>(wish);
  self->state.store = store;
  self->state.client = client;
  self->monitor(store);
  self->monitor(client);
  carry_out_all(self, self->state.keeper->start(BootClock::now()));
  return {[=](const Wake& wake) {
            if (self->state.armed != wake.time) return;
            self->state.armed.reset();
            take_in(self, keeper_event::Timer{});
          },
          [=](const Answer& answer) {
            self->state.if_store_ends.reset();
            take_in(self, answer.event);
          },
          [=](LeaseStopped) { take_in(self, keeper_event::ClientStopped{}); },
          [=](LeaseEnd) { take_in(self, keeper_event::End{}); }};
}

}  // namespace

caf::actor spawn_lease_keeper(caf::actor_system& system, const caf::actor& store, LeaseWish wish,
                              const caf::actor& client) {
  return system.spawn(run, store, std::move(wish), client);
}

}  // namespace troupe
