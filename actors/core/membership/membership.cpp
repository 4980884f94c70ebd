// SPDX-License-Identifier: Apache-2.0
#include "actors/core/membership/membership.hpp"

#include "actors/base/log.hpp"
#include "actors/core/kinds.hpp"
#include "actors/core/membership/membership_state.hpp"
#include "actors/core/membership/membership_wire.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/net_module.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <bit>
#include <map>

namespace troupe {
namespace {

using Clock = MembershipState::Clock;
constexpr auto tick_every = std::chrono::milliseconds(200);

struct Tick {
  using actor_message = void;
};
struct Leave {
  using actor_message = void;
};
struct Watch {
  using actor_message = void;
  caf::actor watcher;
};

/// What CAF makes of nothing but a default constructor.
struct None {};
using Self = caf::stateful_actor<None>;

}  // namespace

/// What the actor does with the state machine's events and effects; lives in its behavior.
struct Membership::Work {
  Work(Self* actor, Node& the_node, MembershipState machine, std::shared_ptr<Snapshot> shared)
      : self(actor), node(the_node), state(std::move(machine)), snapshot(std::move(shared)) {}

  RemoteActors& remote() { return node.system().network_manager().remote(); }

  void carry_out();
  void carry_out(const MembershipState::Dial& dial) { node.connect(dial.to); }
  void carry_out(const MembershipState::Drop& drop) { remote().drop(drop.id, drop.why); }
  void carry_out(const MembershipState::Send& send);
  void carry_out(const MembershipState::Changed& changed);
  void carry_out(const MembershipState::End& end);

  /// Who sent the message that is being handled, if it came from another node.
  [[nodiscard]] NodeId sender() const { return node_of(self->current_sender()); }
  void note_broken(const Error& why);

  Self* self;
  Node& node;
  MembershipState state;
  std::shared_ptr<Snapshot> snapshot;
  std::map<NodeId, caf::actor> peers;  ///< the actors that do this on other nodes
  std::vector<caf::actor> watchers;
  std::uint64_t broken = 0;
};

void Membership::Work::carry_out() {
  for (const auto& effect : state.take_effects()) {
    std::visit([this](const auto& one) { carry_out(one); }, effect);
  }
}

void Membership::Work::carry_out(const MembershipState::Send& send) {
  auto& peer = peers[send.to];
  if (!peer) {
    const auto* member = state.find(send.to);
    peer = node.resolve({send.to, member->control, membership_actor});
  }
  std::visit([&](const auto& what) { self->send(peer, to_message(what)); }, send.what);
}

void Membership::Work::carry_out(const MembershipState::Changed& changed) {
  const auto& member = changed.member;
  if (!is_present(member.state)) peers.erase(member.id);
  {
    const std::lock_guard lock(snapshot->mutex);
    snapshot->members = state.members();
  }
  for (const auto& watcher : watchers) self->send(watcher, MemberChanged{member});
}

void Membership::Work::carry_out(const MembershipState::End& end) {
  log_warn("this incarnation of the node is over: {}", end.why.what);
  for (const auto& watcher : watchers) self->send(watcher, IncarnationOver{end.why});
}

void Membership::Work::note_broken(const Error& why) {
  if (std::has_single_bit(++broken)) {  // the 1st, 2nd, 4th, ...: a peer may send very many
    log_warn("dropped {} message(s) about members; the last from {}: {}", broken,
             to_string(sender()), why.what);
  }
}

namespace {

template <class Work>
caf::behavior behave(Self* self, std::shared_ptr<Work> work) {
  // Every event is followed by what it leads to.
  const auto event = [work](auto&& handle) {
    handle(work->state);
    work->carry_out();
  };
  const auto hear = [work, event](const auto& message) {
    try {
      auto said = from_message(*message.read());
      if (!said) return work->note_broken(said.error());
      event([&](auto& state) { state.hear(work->sender(), *said, Clock::now()); });
    } catch (const kj::Exception& e) {  // decode boundary
      work->note_broken({ErrorCode::corrupt, e.getDescription().cStr()});
    }
  };
  return {
      [=](const PeerUp& up) { event([&](auto& state) { state.peer_up(up.peer, Clock::now()); }); },
      [=](const PeerDown& down) {
        event([&](auto& state) { state.peer_down(down.peer, down.why, Clock::now()); });
      },
      [=](const ConnectFailed& failed) {
        event([&](auto& state) { state.connect_failed(failed.to, failed.why, Clock::now()); });
      },
      [=](const SignOfLife& sign) {
        event([&](auto& state) { state.sign_of_life(sign.peer, Clock::now()); });
      },
      [=](const Msg<msg::MemberNews>& news) { hear(news); },
      [=](const Msg<msg::MemberProbe>& probe) { hear(probe); },
      [=](Tick) {
        event([&](auto& state) { state.tick(Clock::now()); });
        self->delayed_send(self, tick_every, Tick{});
      },
      [=](Leave) {
        event([&](auto& state) { state.leave(); });
        return true;
      },
      [=](const Watch& watch) {
        work->watchers.push_back(watch.watcher);
        for (const auto& member : work->state.members()) {
          self->send(watch.watcher, MemberChanged{member});
        }
      },
  };
}

}  // namespace

Membership::Membership(Node& node, NodeOffer offer, bool joining, const std::vector<Address>& seeds)
    : node_(node) {
  const auto& self = node.self();
  Member member{self.id, self.control, self.role, std::move(offer), MemberState::alive, false, {}};
  snapshot_->members = {member};
  MembershipState state(std::move(member), joining, seeds, {}, self.id.incarnation, Clock::now());
  actor_ = node.system().spawn<caf::detached>(
      [&node, snapshot = snapshot_](Self* actor, MembershipState machine) -> caf::behavior {
        keep_first_cause(*actor);
        actor->send(actor, Tick{});
        return behave(actor, std::make_shared<Work>(actor, node, std::move(machine), snapshot));
      },
      std::move(state));
  auto& remote = node.system().network_manager().remote();
  remote.serve(membership_actor, actor_);
  remote.watch(actor_);
  remote.watch_signs(actor_);
}

Membership::~Membership() {
  caf::scoped_actor self{node_.system()};
  self->send_exit(actor_, caf::exit_reason::user_shutdown);
  self->wait_for(actor_);
}

std::vector<Member> Membership::members() const {
  const std::lock_guard lock(snapshot_->mutex);
  return snapshot_->members;
}

void Membership::watch(const caf::actor& watcher) { caf::anon_send(actor_, Watch{watcher}); }

void Membership::leave() {
  caf::scoped_actor self{node_.system()};
  self->request(actor_, std::chrono::seconds(1), Leave{})
      .receive([](bool) {}, [](const caf::error&) { log_warn("the others were not told"); });
}

void register_membership_messages(ActorKinds& kinds) {
  kinds.messages().add<msg::MemberNews>();
  kinds.messages().add<msg::MemberProbe>();
}

}  // namespace troupe
