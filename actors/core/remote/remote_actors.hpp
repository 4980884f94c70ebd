// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/message_types.hpp"
#include "actors/core/remote/inline_unit.hpp"
#include "actors/core/remote/local_actors.hpp"
#include "actors/core/remote/pending_requests.hpp"
#include "actors/core/remote/remote_node.hpp"
#include "actors/net/gone_nodes.hpp"
#include "actors/net/transport.hpp"

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
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

struct SignOfLife {
  using actor_message = void;
  NodeId peer;
};

/// The number under which every node's membership can be reached, besides its own: no actor gets
/// it, for CAF counts from 1.
constexpr ActorNumber membership_actor = ActorNumber{1} << 63;

/// Ties CAF's actors to a transport: proxies for actors of other nodes, delivery to ours, DOWN and
/// bounced requests when a node dies. One per node, owned by caf::net::middleman; safe from any
/// thread. The mutex guards what is known of other nodes and is never held while an actor is
/// called. remote_actors.cpp has the nodes' coming and going, outgoing.cpp what goes from here to
/// there, incoming.cpp what comes.
class RemoteActors final : public TransportHandler {
 public:
  /// Calls that resolve() may have under way at once: addresses come in messages, and whoever
  /// writes them must not have this node call everybody.
  static constexpr std::size_t max_calls = 64;

  RemoteActors(caf::actor_system& system, const MessageTypes& types)
      : system_(system), types_(types), inline_unit_(system) {}

  /// The transport has started; `self` is what it said. It must outlive all actors.
  void attach(Transport& transport, const PeerInfo& self);
  /// Ends every proxy; nothing is sent any more.
  void detach();

  /// A handle for an actor anywhere. Calls its node where there is no connection yet; messages wait
  /// for it. If the node cannot be reached, has died, or if too many are being called already, the
  /// handle is down; but for a node that has died another handle may fare better later.
  [[nodiscard]] caf::actor resolve(const ActorRef& ref);
  /// The other way: what to tell others so that they can resolve() it. Keeps an actor of this node
  /// reachable until it ends.
  [[nodiscard]] ActorRef ref(const caf::actor& actor);
  /// `watcher` gets PeerUp (also for the peers that are up already), PeerDown and ConnectFailed.
  void watch(const caf::actor& watcher);
  /// `watcher` gets SignOfLife, a few times a second for each peer.
  void watch_signs(const caf::actor& watcher);
  /// Other nodes reach the actor under this number, which is known to all, too.
  void serve(ActorNumber number, const caf::actor& actor);
  /// Declares an incarnation of a node dead; see Transport::drop.
  void drop(const NodeId& node, const Error& why);

  /// Messages from other nodes to this actor of ours are handled on the transport's thread: see
  /// InlineUnit for which actors may want that.
  void run_inline(const caf::actor& actor);

  /// A proxy has received something for the actor that it stands for.
  void forward(RemoteProxy& proxy, caf::mailbox_element& element);
  /// Somebody here wants to know when that actor ends: its proxy lives until then.
  void monitor(RemoteProxy& proxy);
  /// A local actor is linked to that one, or not any more.
  void link(FrameKind kind, RemoteProxy& proxy, caf::abstract_actor& local);

  void on_peer_up(const PeerInfo& peer) override;
  void on_peer_down(const NodeId& peer, const Error& why) override;
  void on_connect_failed(const Address& to, const Error& why) override;
  void on_sign_of_life(const NodeId& peer) override;
  void on_frame(const NodeId& from, Frame frame) override;
  void on_pause() override;

 private:
  using NodePtr = std::shared_ptr<RemoteNode>;
  enum class Sent { taken, full, lost };

  // remote_actors.cpp
  [[nodiscard]] static NodePtr make_node(const NodeId& id);
  /// With the mutex held: the node of this id, a new one where it is not known.
  [[nodiscard]] NodePtr& node(const NodeId& id);
  /// With the mutex held: begins a call. Error: there are too many.
  [[nodiscard]] Result<void> call(RemoteNode& node, const Address& to);
  [[nodiscard]] caf::strong_actor_ptr proxy(const NodePtr& node, ActorNumber actor);
  void lose(const NodePtr& node, const Error& why);
  template <class Note>
  void tell_watchers(const Note& note);

  // outgoing.cpp
  /// By what number others know who sends something from here; 0: nobody.
  [[nodiscard]] ActorNumber number_of(const caf::strong_actor_ptr& sender);
  [[nodiscard]] Sent send(RemoteNode& node, Frame frame);
  void send_reason(FrameKind kind, RemoteNode& node, ActorNumber source, ActorNumber target,
                   caf::message_id id, const caf::error& reason);
  [[nodiscard]] bool encode(const caf::mailbox_element& element, Frame& frame) const;
  void refuse(RemoteNode& node, const caf::mailbox_element& element, Sent outcome);

  // incoming.cpp
  /// Makes it `last_sender_`; false: it is gone.
  [[nodiscard]] bool find_sender(const NodeId& id);
  void deliver(const NodePtr& from, Frame& frame);
  void deliver_data(const NodePtr& from, Frame& frame);
  void deliver_reply(RemoteNode& from, const Frame& frame);
  void deliver_exit(const NodePtr& from, const Frame& frame);
  void deliver_down(RemoteNode& from, const Frame& frame);
  void monitor_for(const NodePtr& from, ActorNumber actor);
  void link_for(const NodePtr& from, const FrameHeader& header);
  void note_broken(const NodeId& from, const std::string& what);
  void answer_overdue();
  [[nodiscard]] caf::execution_unit* lane(bool inlined) {
    return inlined ? &inline_unit_ : nullptr;
  }

  caf::actor_system& system_;
  const MessageTypes& types_;
  InlineUnit inline_unit_;  ///< of the transport's thread
  LocalActors locals_;
  PendingRequests pending_;

  std::atomic<std::uint64_t> refused_{0};  ///< messages that found too much waiting before them
  std::atomic<std::uint64_t> broken_{0};   ///< messages that were dropped because of their content
  std::atomic<std::uint64_t> calls_refused_{0};

  NodePtr last_sender_;  ///< of the transport's thread, as is the next one
  std::chrono::steady_clock::time_point next_overdue_check_{};

  std::atomic<Transport*> transport_{nullptr};  ///< changed under the mutex
  std::mutex mutex_;
  PeerInfo self_;
  std::unordered_map<NodeId, NodePtr> nodes_;  ///< that are called or up
  GoneNodes gone_;
  std::size_t calls_ = 0;  ///< under way
  std::vector<caf::actor> watchers_;
  std::vector<caf::actor> sign_watchers_;
};

[[nodiscard]] caf::node_id to_caf(const NodeId& id);
/// On which other node an actor lives; none: here, or there is no actor.
[[nodiscard]] NodeId node_of(const caf::strong_actor_ptr& actor);

}  // namespace troupe
