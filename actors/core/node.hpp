// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "actors/core/membership/membership.hpp"
#include "actors/net/crypto.hpp"
#include "actors/net/transport.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "messages/version.hpp"

#include <caf/actor.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class Bulk;
class LoopbackHub;
class PathRouter;
struct NodeConfig;

/// The threads on which a node's actors run, but for those that are detached or inline.
struct SchedulerOptions {
  enum class Policy {
    sharing,   ///< one queue for all: the quickest round trips where cores are few, idle when idle
    stealing,  ///< a queue for each thread: for very many actors on many cores; polls when idle
  };
  static constexpr std::size_t max_threads = 1024;

  Policy policy = Policy::sharing;
  std::size_t threads = 0;  ///< 0: as many as there are cores, but 2 at least and 4 at most
};

struct NodeOptions {
  std::string name;  ///< letters, digits, '.', '_', '-'; at most 100
  std::string version = program_version;
  Address listen{"127.0.0.1", 0};
  ClusterSecret secret = ClusterSecret::random();
  LoopbackHub* hub = nullptr;  ///< a network inside this process instead of sockets and UCX
  bool encrypt = false;        ///< all that nodes say to each other; all of a cluster or none
  NodeRole role = NodeRole::host;
  NodeOffer offer;             ///< what it has for actors that others place here
  bool joins = false;          ///< it is about to join others: see Membership
  std::vector<Address> seeds;  ///< where members may listen: see Membership
  SchedulerOptions scheduler;  ///< of this program's actors
  int state_fd = -1;           ///< passed on to the actors that are spawned here (SpawnContext)
};

/// This process as a member of the cluster: its actor system, its place on the network, and the
/// actor that spawns kinds on request. Ends all its actors when it is destroyed.
class Node {
 public:
  /// `kinds` must outlive the node. Errors: a bad name, too many threads, a port in use, UCX
  /// without a usable device.
  [[nodiscard]] static Result<std::unique_ptr<Node>> start(NodeOptions options,
                                                           const ActorKinds& kinds);
  ~Node();
  Node(const Node&) = delete;

  [[nodiscard]] caf::actor_system& system() { return *system_; }
  [[nodiscard]] const PeerInfo& self() const { return self_; }
  [[nodiscard]] const ActorKinds& kinds() const { return kinds_; }

  /// Handle <-> reference that can travel in a message; see RemoteActors.
  [[nodiscard]] caf::actor resolve(const ActorRef& ref);
  [[nodiscard]] ActorRef ref(const caf::actor& actor);
  /// The actor that spawns kinds on another node.
  [[nodiscard]] caf::actor node_actor_of(const PeerInfo& peer);

  /// Addresses of the actors that supervisors of this node look after.
  [[nodiscard]] PathRouter& paths() { return *paths_; }

  /// Other nodes find this actor by asking the node's actor for the name (msg::FindService). The
  /// actor's owner ends it; an empty handle takes the name back.
  void offer(const std::string& service, const caf::actor& actor);

  /// Handles messages from other nodes to this actor on the network thread, without a wake-up in
  /// between. Its handlers must be short (a watchdog warns above 1 ms) and may not block.
  void run_inline(const caf::actor& actor);

  /// What this process exposes to others and how it reaches what they expose; for any thread.
  [[nodiscard]] Bulk& bulk() { return *bulk_; }

  /// Joins the node that listens there; watchers hear how it went.
  void connect(const Address& to);
  /// Who belongs to the cluster.
  [[nodiscard]] Membership& membership() { return *membership_; }
  /// `watcher` gets PeerUp, PeerDown, ConnectFailed (remote_actors.hpp).
  void watch(const caf::actor& watcher);

 private:
  Node(NodeOptions options, const ActorKinds& kinds);
  [[nodiscard]] Result<void> open();

  NodeOptions options_;
  const ActorKinds& kinds_;
  NodeId id_;
  std::unique_ptr<NodeConfig> config_;
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Bulk> bulk_;
  std::unique_ptr<caf::actor_system> system_;
  std::unique_ptr<PathRouter> paths_;
  PeerInfo self_;
  caf::actor node_actor_;
  std::unique_ptr<Membership> membership_;
};

}  // namespace troupe
