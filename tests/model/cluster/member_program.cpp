// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/member_program.hpp"

namespace troupe::model {

MemberProgram::MemberProgram(Network& network, std::size_t machine, const PeerInfo& self,
                             Setup setup)
    : network_(network),
      machine_(machine),
      id_(self.id),
      setup_(std::move(setup)),
      state_({self.id, self.control, self.role, {}, MemberState::alive, false, {}},
             !setup_.join.empty(), setup_.seeds, setup_.options, self.id.incarnation,
             network.clock(machine)) {}

void MemberProgram::on_start() { on_tick(); }

void MemberProgram::on_peer_up(const PeerInfo& peer) {
  joined_ = true;
  state_.peer_up(peer, now());
  carry_out();
}

void MemberProgram::on_peer_down(const NodeId& peer, const Error& why) {
  state_.peer_down(peer, why, now());
  carry_out();
}

void MemberProgram::on_connect_failed(const Address& to, const Error& why) {
  state_.connect_failed(to, why, now());
  carry_out();
}

void MemberProgram::on_sign_of_life(const NodeId& peer) {
  state_.sign_of_life(peer, now());
  carry_out();
}

void MemberProgram::on_tick() {
  if (!joined_ && !setup_.join.empty() && now() >= call_at_) {
    network_.dial(machine_, setup_.join[calls_++ % setup_.join.size()]);
    call_at_ = now() + Millis(500);
  }
  state_.tick(now());
  carry_out();
}

void MemberProgram::carry_out() {
  if (over_) return;
  for (const auto& effect : state_.take_effects()) {
    std::visit([this](const auto& one) { carry_out(one); }, effect);
    if (over_) return;
  }
}

void MemberProgram::carry_out(const MembershipState::Send& send) {
  network_.send(machine_, send.to, [from = id_, what = send.what](Program& there) {
    auto& other = dynamic_cast<MemberProgram&>(there);
    std::visit([&](const auto& said) { other.state_.hear(from, said, other.now()); }, what);
    other.carry_out();
  });
}

void MemberProgram::carry_out(const MembershipState::Changed& changed) {
  setup_.changed(id_, changed.member);
}

void MemberProgram::carry_out(const MembershipState::End& end) {
  if (end.why.code == ErrorCode::aborted && !setup_.yields) return;
  over_ = true;
  std::vector<Address> known;
  for (const auto& member : state_.members()) {
    if (!member.confirmed && member.id != id_) known.push_back(member.control);
  }
  if (end.why.code == ErrorCode::aborted) setup_.yielded(id_, std::move(known));
  network_.exit(machine_, Millis(50));
}

}  // namespace troupe::model
