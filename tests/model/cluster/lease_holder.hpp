// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/lease/lease_keeper.hpp"
#include "tests/model/cluster/network.hpp"
#include "tests/model/cluster/store_service.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace troupe::model {

/// A process's wish to be the one that acts: a real keeper, and a client that takes up to 1.5 s to
/// come to a stop when it is told to.
class LeaseHolderModel {
 public:
  struct Setup {
    std::size_t machine = 0;
    std::string owner;
    bool heeds_expiry = true;  ///< false: it acts until the store says that the lease is gone
    std::function<void(const Lease&)> began;
    std::function<void()> ended;    ///< it acts no more under that lease
    std::function<void()> changed;  ///< it may act longer
  };

  LeaseHolderModel(Network& network, StoreService& store, Setup setup);

  void start() { carry_out(keeper_.start(now())); }
  void tick();

  /// Does it do, at this true moment, what only one may do?
  [[nodiscard]] bool acts() const;

 private:
  void step(const KeeperEvent& event) { carry_out(keeper_.step(event, now())); }
  void carry_out(const KeeperEffects& effects);
  void carry_out(const keeper_effect::Acquire&);
  void carry_out(const keeper_effect::Renew& renew);
  void carry_out(const keeper_effect::Release& release);
  void carry_out(const keeper_effect::Have& have);
  void carry_out(const keeper_effect::Extended& extended);
  void carry_out(const keeper_effect::Stop& stop);
  void carry_out(const keeper_effect::Waiting&) {}
  void carry_out(const keeper_effect::WakeAt&) {}  // every tick is such a time
  void carry_out(const keeper_effect::Ended&) {}
  void ask(std::function<KeeperEvent(Store&)> what);
  [[nodiscard]] BootClock::time_point now() const;

  Network& network_;
  StoreService& store_;
  Setup setup_;
  LeaseKeeper keeper_;
  std::optional<Lease> lease_;  ///< it acts under
  BootClock::time_point until_;
};

}  // namespace troupe::model
