// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/cluster_program.hpp"

#include <utility>

namespace troupe::model {
namespace {

/// A connection that carries nothing ends within 6 s; a life is up or refused within 3.
constexpr std::uint64_t ticks_to_an_answer = 15 * 5;

}  // namespace

ClusterProgram::ClusterProgram(Network& network, StoreService& store, std::size_t machine,
                               const PeerInfo& self, const Parts& parts)
    : MemberProgram(network, machine, self, parts.member),
      network_(network),
      machine_(machine),
      id_(self.id),
      parts_(parts),
      host_(*this) {
  if (!parts_.may_act) return;
  lease_.emplace(network, store,
                 LeaseHolderModel::Setup{machine, to_string(id_), parts_.heeds_expiry,
                                         [this](const Lease& lease) { begin_term(lease); },
                                         [this] { end_term(); }, [this] { parts_.acting(); }});
}

void ClusterProgram::on_start() {
  if (lease_) lease_->start();
  MemberProgram::on_start();
}

void ClusterProgram::on_peer_up(const PeerInfo& peer) {
  peers_.insert(peer.id);
  MemberProgram::on_peer_up(peer);
}

void ClusterProgram::on_peer_down(const NodeId& peer, const Error& why) {
  peers_.erase(peer);
  requests_.bounce(peer, why);
  host_.peer_gone(peer);
  if (term_) term_->peer_gone(peer);
  MemberProgram::on_peer_down(peer, why);
}

void ClusterProgram::on_tick() {
  if (lease_) lease_->tick();
  host_.tick();
  if (term_) term_->tick();
  if (requests_.tick(ticks_to_an_answer) > 0) complain(to_string(id_) + " waits for an answer");
  MemberProgram::on_tick();
}

void ClusterProgram::send(const NodeId& to, std::function<void(ClusterProgram&)> what) {
  if (to == id_) return later(Millis(1), [this, what = std::move(what)] { what(*this); });
  network_.send(machine_, to, [what = std::move(what)](Program& there) {
    what(dynamic_cast<ClusterProgram&>(there));
  });
}

void ClusterProgram::request(const NodeId& to,
                             std::function<void(ClusterProgram&, const Answer&)> what,
                             Answer then) {
  const auto number = requests_.add(to, std::move(then));
  if (!reaches(to)) {
    return later(Millis(1), [this, number] {
      requests_.answer(number, fail(ErrorCode::unavailable, "no connection"));
    });
  }
  send(to, [what = std::move(what), number, from = id_](ClusterProgram& there) {
    what(there, [&there, number, from](const Result<Lives>& result) {
      there.send(from, [number, result](ClusterProgram& asker) {
        asker.requests_.answer(number, result);
      });
    });
  });
}

std::vector<NodeId> ClusterProgram::hosts() const {
  std::vector<NodeId> all(peers_.begin(), peers_.end());
  all.push_back(id_);
  return all;
}

void ClusterProgram::begin_term(const Lease& lease) {
  term_.emplace(*this, to_string(id_) + "#" + std::to_string(lease.generation), parts_.term);
  term_->begin();
  parts_.acting();
}

/// The children live on as orphans: hosts hear that their owner is gone.
void ClusterProgram::end_term() {
  for (const auto& host : hosts()) {
    send(host, [key = term_->key()](ClusterProgram& there) { there.host().owner_gone(key); });
  }
  term_.reset();
}

}  // namespace troupe::model
