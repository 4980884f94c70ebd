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
  /// What one peer may have here at once; a peer that wants more is refused, or lost where it
  /// should know better. The sender keeps to `in_flight` and `ahead` by itself: a message goes out
  /// beside others only up to the first, and the second is the most that goes out between two
  /// moments in which nothing is on its way. One message of any size may go alone.
  struct Limits {
    static constexpr std::size_t connections = 4;
    static constexpr std::size_t in_flight = std::size_t{64} << 20;  ///< bytes inside UCX
    static constexpr std::size_t ahead = std::size_t{128} << 20;     ///< bytes
    static constexpr std::size_t messages_ahead = 32768;
    static constexpr std::size_t fetched = 2 * in_flight;               ///< bytes of payloads
    static constexpr std::size_t waiting = 2 * ahead;                   ///< bytes behind a gap
    static constexpr std::size_t unread_frames = std::size_t{1} << 18;  ///< for a peer
    static constexpr std::size_t unread_bytes = std::size_t{2} << 30;
  };

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
  /// `connection`; it may use the session that it was given from now on. Errors: it has too many
  /// connections.
  [[nodiscard]] Result<void> expect(const Handshake& handshake, int connection);
  /// The handshake is done.
  void introduce(const Handshake& handshake);
  /// A control connection ended; the peer goes with its last one.
  void disconnect(const NodeId& id, int connection, const Error& why);

  /// Takes frames and queues them; flush() sends what may go. False: no such peer is up.
  bool send(const NodeId& to, std::span<Outgoing> frames);
  void flush();
  /// Nothing is queued for any peer that may go, and UCX holds nothing any more.
  [[nodiscard]] bool idle() const;

  /// May a message with so many bytes of payload be received? Gives what counts its sender's
  /// payloads on their way, or nothing.
  [[nodiscard]] std::shared_ptr<std::size_t> admit(std::span<const std::byte> header,
                                                   std::size_t payload);
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
  struct Arrived {
    std::vector<Frame> frames;
    std::size_t size = 0;  ///< bytes of the message
  };
  struct Peer {
    explicit Peer(CreditWindow window) : credits(window) {}

    PeerInfo info;
    std::uint64_t session_out = 0;
    std::optional<SessionKey> key_out;
    ucp_ep* endpoint = nullptr;
    std::map<int, std::uint64_t> connections;  ///< and the sessions that they gave
    std::uint64_t session_in = 0;              ///< the one that the peer uses, once it does
    std::uint64_t next_sequence = 0;
    Reorder<Arrived> reorder;
    std::size_t waiting = 0;  ///< bytes that wait for a message before them
    std::shared_ptr<std::size_t> fetched = std::make_shared<std::size_t>(0);
    SendCredits<Outgoing> credits;
    Fifo<Outgoing> queue;
    std::size_t queued = 0;  ///< bytes
    std::shared_ptr<std::size_t> in_flight = std::make_shared<std::size_t>(0);
    std::size_t ahead = 0;  ///< bytes sent since nothing was in flight
    std::size_t messages_ahead = 0;
    bool greeted = false;
    bool up = false;
    bool lost = false;  ///< about to be buried
  };

  void note_dropped(const std::string& what);
  void flush(Peer& peer);
  void enqueue(Peer& peer, Outgoing outgoing);
  /// May `size` more bytes go out now, with `packed` bytes about to?
  [[nodiscard]] static bool may_go(Peer& peer, std::size_t size, std::size_t packed);
  void transmit(Peer& peer, FrameWriter& writer);
  void take_in(Peer& peer, std::uint64_t sequence, Arrived message);
  void send(Peer& peer, Outgoing outgoing);
  void deliver(Peer& peer, std::vector<Frame> frames);
  void deliver(Peer& peer, Frame frame);
  /// The peer misbehaves: it is buried as soon as UCX allows it, and nothing of it is let in.
  void lose(const NodeId& id, const Error& why);
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
