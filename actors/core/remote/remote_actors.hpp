// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/message_types.hpp"
#include "actors/core/remote/inline_unit.hpp"
#include "actors/net/transport.hpp"
#include "actors/net/wire/backlog.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace troupe {

class RemoteProxy;

/// What watchers of the network are told, as local messages.
struct PeerUp {
  using actor_message = void;
  PeerInfo peer;
};
struct PeerDown {
  using actor_message = void;
  NodeId peer;
  Error why;
};
struct ConnectFailed {
  using actor_message = void;
  Address to;
  Error why;
};

/// Ties CAF's actors to a transport: proxies for actors of other nodes, delivery to ours, DOWN and
/// bounced requests when a node dies. One per node, owned by caf::net::middleman; safe from any
/// thread. The mutex guards the tables and is never held while an actor is called.
class RemoteActors final : public TransportHandler {
 public:
  RemoteActors(caf::actor_system& system, const MessageTypes& types)
      : system_(system), types_(types), inline_unit_(system) {}

  /// The transport has started; `self` is what it said.
  void attach(Transport& transport, const PeerInfo& self);
  /// Ends every proxy; nothing is sent any more.
  void detach();

  /// A handle for an actor anywhere. Calls its node where there is no connection yet; messages wait
  /// for it. If the node cannot be reached or is gone, the handle is down.
  [[nodiscard]] caf::actor resolve(const ActorRef& ref);
  /// The other way: what to tell others so that they can resolve() it. Keeps an actor of this node
  /// reachable until it ends.
  [[nodiscard]] ActorRef ref(const caf::actor& actor);
  /// `watcher` gets PeerUp (also for the peers that are up already), PeerDown and ConnectFailed.
  void watch(const caf::actor& watcher);

  /// Messages from other nodes to this actor of ours are handled on the transport's thread: see
  /// InlineUnit for which actors may want that.
  void run_inline(const caf::actor& actor);

  /// A proxy has received something for the actor that it stands for.
  void forward(const NodeId& node, caf::abstract_actor& proxy, caf::mailbox_element& element);

  /// Somebody here wants to know when that actor ends: its proxy lives until then.
  void monitor(const NodeId& node, RemoteProxy& proxy);

  /// A local actor is linked to that one, or not any more.
  void link(FrameKind kind, const NodeId& node, const caf::abstract_actor& proxy,
            caf::abstract_actor& local);

  void on_peer_up(const PeerInfo& peer) override;
  void on_peer_down(const NodeId& peer, const Error& why) override;
  void on_connect_failed(const Address& to, const Error& why) override;
  void on_frame(const NodeId& from, Frame frame) override;
  void on_pause() override;

 private:
  struct Call {
    Address to;
    std::vector<Frame> waiting;
    std::size_t bytes = 0;
  };
  struct Pending {
    caf::strong_actor_ptr asker;
    caf::message_id id;
    NodeId asked;
    std::chrono::steady_clock::time_point due;
  };
  using Link = std::tuple<NodeId, ActorNumber, ActorNumber>;  ///< theirs, their number, ours
  using PendingKey = std::pair<ActorNumber, std::uint64_t>;

  [[nodiscard]] static PendingKey key(ActorNumber asker, caf::message_id id);
  [[nodiscard]] caf::strong_actor_ptr proxy(const NodeId& node, ActorNumber actor);
  [[nodiscard]] caf::strong_actor_ptr known_proxy(const NodeId& node, ActorNumber actor);
  [[nodiscard]] caf::strong_actor_ptr local(ActorNumber actor);
  /// Where the actor's next message is handled; nothing: in the scheduler.
  [[nodiscard]] caf::execution_unit* lane_of(ActorNumber actor);
  /// Who asked `from` that, if anybody did: nobody else may answer.
  [[nodiscard]] caf::strong_actor_ptr take_pending(const NodeId& from, ActorNumber asker,
                                                   caf::message_id id);
  /// False: too much waits for that node already.
  [[nodiscard]] bool send(const NodeId& to, Frame frame);
  void note_refused(const NodeId& node);
  void send_reason(FrameKind kind, const NodeId& to, ActorNumber source, ActorNumber target,
                   caf::message_id id, const caf::error& reason);
  [[nodiscard]] bool encode(const caf::mailbox_element& element, Frame& frame) const;
  void lose(const NodeId& node, const Error& why);
  void note_broken(const NodeId& from, const std::string& what);
  void deliver(const NodeId& from, const Frame& frame);
  void deliver_data(const NodeId& from, const Frame& frame);
  void monitor_for(const NodeId& from, ActorNumber actor);
  void link_for(const NodeId& from, const FrameHeader& header);
  void answer_overdue();
  template <class Note>
  void tell_watchers(const Note& note);

  caf::actor_system& system_;
  const MessageTypes& types_;
  InlineUnit inline_unit_;  ///< of the transport's thread

  std::atomic<std::uint64_t> refused_{0};  ///< messages that found too much waiting before them
  std::atomic<std::uint64_t> broken_{0};   ///< messages that were dropped because of their content

  std::mutex mutex_;
  Transport* transport_ = nullptr;
  PeerInfo self_;
  std::map<NodeId, PeerInfo> peers_;
  std::map<NodeId, Call> calls_;
  std::set<NodeId> gone_;
  std::map<NodeId, std::map<ActorNumber, caf::weak_actor_ptr>> proxies_;
  std::map<std::pair<NodeId, ActorNumber>, caf::strong_actor_ptr> watched_;  ///< proxies
  std::unordered_map<ActorNumber, caf::weak_actor_ptr> reachable_;
  std::set<ActorNumber> inline_;
  /// Who asked to be told of the end of which of ours, and still wants to.
  std::map<std::pair<NodeId, ActorNumber>, bool> monitored_;
  std::map<PendingKey, Pending> pending_;
  std::map<Link, bool> links_;  ///< those that were made, and whether they still hold
  std::map<NodeId, std::size_t> link_counts_;
  std::chrono::steady_clock::time_point next_overdue_check_{};  ///< of the transport's thread
  std::vector<caf::actor> watchers_;
};

[[nodiscard]] caf::node_id to_caf(const NodeId& id);

}  // namespace troupe
