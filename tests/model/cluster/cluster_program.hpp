// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/model/cluster/lease_holder.hpp"
#include "tests/model/cluster/member_program.hpp"

#include <functional>
#include <optional>

namespace troupe::model {

/// A node of the model with more than its membership: it may want to act.
class ClusterProgram final : public MemberProgram {
 public:
  struct Parts {
    MemberProgram::Setup member;
    std::optional<LeaseHolderModel::Setup> lease;  ///< of role control
  };

  ClusterProgram(Network& network, StoreService& store, std::size_t machine, const PeerInfo& self,
                 Parts parts)
      : MemberProgram(network, machine, self, std::move(parts.member)) {
    if (parts.lease) lease_.emplace(network, store, *std::move(parts.lease));
  }

  void on_start() override {
    if (lease_) lease_->start();
    MemberProgram::on_start();
  }
  void on_tick() override {
    if (lease_) lease_->tick();
    MemberProgram::on_tick();
  }

  [[nodiscard]] bool acts() const { return lease_ && lease_->acts(); }

 private:
  std::optional<LeaseHolderModel> lease_;
};

}  // namespace troupe::model
