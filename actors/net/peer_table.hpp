// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/gone_nodes.hpp"
#include "actors/net/handshake.hpp"
#include "actors/net/ucx_worker.hpp"
#include "actors/net/wire/credit_returns.hpp"
#include "actors/net/wire/credits.hpp"
#include "actors/net/wire/fifo.hpp"
#include "actors/net/wire/frame_codec.hpp"
#include "actors/net/wire/outbox.hpp"
#include "actors/net/wire/reorder.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// The nodes that this one talks to: which sessions they were given, their endpoints, the order of
/// their frames, what waits for them. A peer is up when the handshake is done and its hello has
/// come over UCX; it is lost when its endpoint fails or its last control connection ends, and if it
/// was up, that incarnation never comes back. Used from the transport's thread only.
class PeerTable {
 public:
  PeerTable(UcxWorker& worker, TransportHandler& handler, std::shared_ptr<CreditReturns> returns,
            CreditWindow window, bool encrypt)
      : worker_(worker),
        handler_(handler),
        returns_(std::move(returns)),
        window_(window),
        encrypt_(encrypt) {}
  ~PeerTable() { clear(); }

  /// Was it up, and is lost?
  [[nodiscard]] bool is_dead(const NodeId& id) const { return dead_.contains(id); }
  /// Is it up, or was it before it died?
  [[nodiscard]] bool was_up(const NodeId& id) const;
  [[nodiscard]] bool is_up(const NodeId& id) const;

  /// The peer of this handshake has proved that it knows the secret, and holds control connection
  /// `connection`; it may use the session that it was given from now on.
  void expect(const Handshake& handshake, int connection);
  /// The handshake is done.
  void introduce(const Handshake& handshake);
  /// A control connection ended; the peer goes with its last one.
  void disconnect(const NodeId& id, int connection, const Error& why);

  /// Takes frames and queues them; flush() sends what may go. False: no such peer is up.
  bool send(const NodeId& to, std::span<Outgoing> frames);
  void flush();
  /// Nothing is queued for any peer that may go, and UCX holds nothing any more.
  [[nodiscard]] bool idle() const;

  [[nodiscard]] bool admits(std::span<const std::byte> header);
  void receive(Buffer header, Buffer payload);
  /// A message cannot be delivered: whoever sent it is lost, for what follows would wait for it.
  void fail(std::span<const std::byte> header, const Error& why);
  [[nodiscard]] bool has_failed() const { return !failed_.empty(); }
  /// Declares a node dead; bury_failed() does the rest.
  void drop(const NodeId& id, const Error& why) {
    dead_.add(id, std::chrono::steady_clock::now());
    if (peers_.contains(id)) failed_.emplace_back(id, why);
  }
  /// Ends all endpoints; nobody is told.
  void clear();
  /// Buries the peers whose endpoints have failed since the last call; gives the control
  /// connections that they leave behind.
  [[nodiscard]] std::vector<int> bury_failed();
  /// Who was buried since the last call.
  [[nodiscard]] std::vector<NodeId> take_buried() { return std::exchange(buried_, {}); }

 private:
  struct Session {
    NodeId peer;
    SessionKey key;
  };
  struct Peer {
    explicit Peer(CreditWindow window) : credits(window) {}

    PeerInfo info;
    std::uint64_t session_out = 0;
    std::optional<SessionKey> key_out;
    ucp_ep* endpoint = nullptr;
    std::set<int> connections;
    std::vector<std::uint64_t> sessions_in;
    std::uint64_t next_sequence = 0;
    Reorder<std::vector<Frame>> reorder;
    SendCredits<Outgoing> credits;
    Fifo<Outgoing> queue;
    std::shared_ptr<std::size_t> in_flight = std::make_shared<std::size_t>(0);
    bool greeted = false;
    bool up = false;
  };

  void note_dropped(const std::string& what);
  void flush(Peer& peer);
  void transmit(Peer& peer, FrameWriter& writer);
  void send(Peer& peer, Outgoing outgoing);
  void deliver(Peer& peer, std::vector<Frame> frames);
  void deliver(Peer& peer, Frame frame);
  void take_credit(Peer& peer, const FrameHeader& header);
  void give_credit();
  void rise_if_ready(Peer& peer);
  void bury(const NodeId& id, const Error& why);

  UcxWorker& worker_;
  TransportHandler& handler_;
  std::shared_ptr<CreditReturns> returns_;
  CreditWindow window_;
  bool encrypt_;
  std::map<NodeId, Peer> peers_;
  std::unordered_map<std::uint64_t, Session> sessions_;
  std::vector<std::pair<NodeId, Error>> failed_;
  std::vector<int> orphans_;
  std::vector<NodeId> buried_;
  GoneNodes dead_;
  std::uint64_t dropped_ = 0;  ///< messages that nobody vouches for
};

}  // namespace troupe
