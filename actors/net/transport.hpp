// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/frame.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

/// What a node is to the others. Control and host nodes are the members of a cluster; a worker is a
/// process that a host has launched, a client a command that somebody runs: those two are known
/// only to the nodes that they talk to.
enum class NodeRole : std::uint8_t { control, host, worker, client };

/// What a node tells another when they meet.
struct PeerInfo {
  NodeId id;
  Address control;               ///< where its control port listens
  std::string version;           ///< program version, "0.1.0"
  std::uint64_t node_actor = 0;  ///< number of the actor that answers for the node
  NodeRole role = NodeRole::host;
};

/// What a transport reports. All calls come from the transport's own thread, one at a time.
class TransportHandler {
 public:
  virtual ~TransportHandler() = default;

  /// Frames can go to and come from this node from now on.
  virtual void on_peer_up(const PeerInfo& peer) = 0;
  /// This incarnation is gone for ever; every frame of it has been delivered before. The code says
  /// how that is known: not_found: it said goodbye; aborted: it has declared this node dead;
  /// timeout: it is silent; any other: the connection is lost. After drop(): what was given there.
  virtual void on_peer_down(const NodeId& peer, const Error& why) = 0;
  /// Something has just been heard of a peer that is up; said now and then, not each time.
  virtual void on_sign_of_life(const NodeId&) {}
  /// A connect() came to nothing. The code not_found says that nothing listens there, `aborted`
  /// that the node that answered lives, but that it and this one hold each other dead.
  virtual void on_connect_failed(const Address& to, const Error& why) = 0;
  /// In the order in which `from` sent them.
  virtual void on_frame(const NodeId& from, Frame frame) = 0;
  /// Called after some frames and before the transport sends or sleeps: a place for short work.
  virtual void on_pause() {}
};

/// Carries frames between nodes: at most once, in order per pair of nodes, with notice of a peer's
/// death after its last frame. Public calls are safe from any thread and do not block.
class Transport {
 public:
  virtual ~Transport() = default;

  /// Begins to listen and to report to `handler`, which must outlive stop(). Gives this node's own
  /// particulars. Errors: a port in use, an address that is not this machine's.
  [[nodiscard]] virtual Result<PeerInfo> start(TransportHandler& handler) = 0;

  /// Asks for a connection. Answers by on_peer_up (at once where there is one already is allowed to
  /// stay silent) or on_connect_failed. `expected`: any other incarnation found there is an error.
  virtual void connect(const Address& to, std::optional<NodeId> expected) = 0;

  /// Sends a frame to a peer that is up; one for a peer that is not is dropped (the handler has
  /// been told). False: too much waits for that peer already, and the frame is not taken; frames
  /// other than data are always taken.
  [[nodiscard]] virtual bool send(const NodeId& to, Frame frame) = 0;

  /// Declares an incarnation dead: if it is up, it is told why as far as it can be reached, and
  /// on_peer_down follows; in any case it never comes up again.
  virtual void drop(const NodeId& id, const Error& why) = 0;

  /// Says goodbye to all peers and ends the thread. Idempotent.
  virtual void stop() = 0;
};

}  // namespace troupe
