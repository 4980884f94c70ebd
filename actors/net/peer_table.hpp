// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/handshake.hpp"
#include "actors/net/reorder.hpp"
#include "actors/net/ucx_worker.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace troupe {

/// The nodes that this one talks to: which sessions they were given, their endpoints, the order of
/// their frames. A peer is up when the handshake is done and its hello has come over UCX; it is
/// dead when its endpoint fails or its last control connection ends, and then that incarnation
/// never comes back. Used from the transport's thread only.
class PeerTable {
 public:
  PeerTable(UcxWorker& worker, TransportHandler& handler) : worker_(worker), handler_(handler) {}
  ~PeerTable();

  [[nodiscard]] bool is_dead(const NodeId& id) const { return dead_.contains(id); }
  [[nodiscard]] bool is_up(const NodeId& id) const;

  /// `id` may write `session` into its frames from now on; it holds control connection
  /// `connection`.
  void expect(const NodeId& id, std::uint64_t session, int connection);
  /// The handshake on a connection of `theirs.info.id` is done.
  void introduce(const Introduction& theirs);
  /// A control connection ended; the peer goes with its last one.
  void disconnect(const NodeId& id, int connection, const Error& why);

  void send(const NodeId& to, Frame frame);
  [[nodiscard]] bool admits(const FrameHeader& header) const;
  void receive(Frame frame);
  /// Buries the peers whose endpoints have failed since the last call; gives the control connections
  /// that they leave behind.
  [[nodiscard]] std::vector<int> bury_failed();

 private:
  struct Peer {
    PeerInfo info;
    std::uint64_t session_out = 0;
    ucp_ep* endpoint = nullptr;
    std::set<int> connections;
    std::vector<std::uint64_t> sessions_in;
    std::uint64_t next_sequence = 0;
    Reorder reorder;
    bool greeted = false;
    bool up = false;
  };

  void deliver(const NodeId& id, Frame frame);
  void transmit(Peer& peer, Frame frame);
  void rise_if_ready(Peer& peer);
  void bury(const NodeId& id, const Error& why);

  UcxWorker& worker_;
  TransportHandler& handler_;
  std::map<NodeId, Peer> peers_;
  std::unordered_map<std::uint64_t, NodeId> sessions_;
  std::vector<std::pair<NodeId, Error>> failed_;
  std::vector<int> orphans_;
  std::unordered_set<NodeId> dead_;
};

}  // namespace troupe
