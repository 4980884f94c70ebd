// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/lease_holder.hpp"

#include <utility>

namespace troupe::model {
namespace {

constexpr std::uint64_t longest_stop = 1500;

}  // namespace

LeaseHolderModel::LeaseHolderModel(Network& network, StoreService& store, Setup setup)
    : network_(network),
      store_(store),
      setup_(std::move(setup)),
      keeper_({"acting", setup_.owner, default_lease_ttl}) {}

BootClock::time_point LeaseHolderModel::now() const {
  return BootClock::time_point(
      std::chrono::duration_cast<Millis>(network_.clock(setup_.machine).time_since_epoch()));
}

void LeaseHolderModel::tick() { step(keeper_event::Timer{}); }

bool LeaseHolderModel::acts() const {
  if (!lease_ || !network_.runs(setup_.machine)) return false;
  return !setup_.heeds_expiry || now() < until_;
}

void LeaseHolderModel::carry_out(const KeeperEffects& effects) {
  for (const auto& effect : effects) {
    std::visit([this](const auto& one) { carry_out(one); }, effect);
  }
}

void LeaseHolderModel::ask(std::function<KeeperEvent(Store&)> what) {
  store_.ask(setup_.machine, std::move(what), [this](const KeeperEvent& event) { step(event); });
}

void LeaseHolderModel::carry_out(const keeper_effect::Acquire&) {
  ask([wish = keeper_.wish()](Store& store) -> KeeperEvent {
    auto lease = store.acquire(wish.name, wish.owner, wish.ttl);
    if (!lease) return keeper_event::Failed{lease.error()};
    return keeper_event::Granted{*lease};
  });
}

void LeaseHolderModel::carry_out(const keeper_effect::Renew& renew) {
  ask([lease = renew.lease](Store& store) -> KeeperEvent {
    auto ok = store.renew(lease);
    if (!ok) return keeper_event::Failed{ok.error()};
    return keeper_event::Renewed{};
  });
}

void LeaseHolderModel::carry_out(const keeper_effect::Release& release) {
  store_.ask(
      setup_.machine,
      [lease = release.lease](Store& store) -> KeeperEvent {
        (void)store.release(lease);
        return keeper_event::Released{};
      },
      [this](const KeeperEvent&) { step(keeper_event::Released{}); });
}

void LeaseHolderModel::carry_out(const keeper_effect::Have& have) {
  lease_ = have.lease;
  until_ = have.until;
  setup_.began(have.lease);
}

void LeaseHolderModel::carry_out(const keeper_effect::Extended& extended) {
  until_ = extended.until;
  setup_.changed();
}

void LeaseHolderModel::carry_out(const keeper_effect::Stop& stop) {
  if (!setup_.heeds_expiry && stop.why.code != ErrorCode::aborted) return;
  const auto pause = Millis(static_cast<std::int64_t>(stop.lease.generation * 397 % longest_stop));
  network_.later(setup_.machine, pause, [this] {
    lease_.reset();
    setup_.ended();
    step(keeper_event::ClientStopped{});
  });
}

}  // namespace troupe::model
