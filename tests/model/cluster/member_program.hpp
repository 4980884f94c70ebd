// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/membership/membership_state.hpp"
#include "tests/model/cluster/network.hpp"

#include <functional>
#include <optional>
#include <vector>

namespace troupe::model {

/// A node of the model whose membership is the real state machine. It joins as `troupe node` does,
/// and goes on as a new incarnation when it must.
class MemberProgram : public Program {
 public:
  struct Setup {
    MembershipOptions options;
    bool yields = true;          ///< false: it stays what it is, as no real node does
    std::vector<Address> join;   ///< is called until one answers
    std::vector<Address> seeds;  ///< that the incarnation before has known
    /// Hears of every change of a view.
    std::function<void(const NodeId& observer, const Member& member)> changed;
    /// An incarnation ends because others hold it dead; where it knows members.
    std::function<void(const NodeId& who, std::vector<Address> known)> yielded;
  };

  MemberProgram(Network& network, std::size_t machine, const PeerInfo& self, Setup setup);

  void on_start() override;
  void on_peer_up(const PeerInfo& peer) override;
  void on_peer_down(const NodeId& peer, const Error& why) override;
  void on_connect_failed(const Address& to, const Error& why) override;
  void on_sign_of_life(const NodeId& peer) override;
  void on_tick() override;

  [[nodiscard]] const MembershipState& state() const { return state_; }

 private:
  void carry_out();
  void carry_out(const MembershipState::Dial& dial) { network_.dial(machine_, dial.to); }
  void carry_out(const MembershipState::Drop& drop) { network_.drop(machine_, drop.id, drop.why); }
  void carry_out(const MembershipState::Send& send);
  void carry_out(const MembershipState::Changed& changed);
  void carry_out(const MembershipState::End& end);
  [[nodiscard]] TimePoint now() const { return network_.clock(machine_); }

  Network& network_;
  std::size_t machine_;
  NodeId id_;
  Setup setup_;
  MembershipState state_;
  bool joined_ = false;
  std::size_t calls_ = 0;
  TimePoint call_at_{};
  bool over_ = false;
};

}  // namespace troupe::model
