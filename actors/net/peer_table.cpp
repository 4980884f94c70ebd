// SPDX-License-Identifier: Apache-2.0
#include "actors/net/peer_table.hpp"

#include "actors/base/log.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

/// The most that an honest message carries beside its header: a body, a blob, a tag.
constexpr std::size_t max_payload = max_body_bytes + max_blob_bytes + sizeof(Tag);

/// Tells the asker's remaining time; false: it has none left.
bool set_remaining(Outgoing& outgoing) {
  if (!outgoing.due) return true;
  const auto now = Clock::now();
  if (*outgoing.due <= now) return false;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*outgoing.due - now).count();
  outgoing.frame.header.remaining_ms =
      static_cast<std::uint32_t>(std::min<std::int64_t>(left, UINT32_MAX));
  return true;
}

}  // namespace

void PeerTable::clear() {
  returns_->close();
  sessions_.clear();  // closing moves UCX on, and nothing may come in any more
  for (auto& [id, peer] : peers_) {
    if (peer.endpoint != nullptr) worker_.close(peer.endpoint);
  }
  peers_.clear();
}

bool PeerTable::was_up(const NodeId& id) const { return dead_.contains(id) || is_up(id); }

void PeerTable::fail(std::span<const std::byte> header, const Error& why) {
  const auto envelope = parse_envelope(header);
  const auto session = envelope ? sessions_.find(envelope->session) : sessions_.end();
  if (session != sessions_.end()) lose(session->second.peer, why);
}

void PeerTable::lose(const NodeId& id, const Error& why) {
  const auto it = peers_.find(id);
  if (it == peers_.end() || std::exchange(it->second.lost, true)) return;
  failed_.emplace_back(id, why);
}

bool PeerTable::is_up(const NodeId& id) const {
  const auto it = peers_.find(id);
  return it != peers_.end() && it->second.up;
}

Result<void> PeerTable::expect(const Handshake& handshake, int connection) {
  const auto& id = handshake.peer()->id;
  auto& peer = peers_.try_emplace(id, window_).first->second;
  if (peer.connections.size() >= Limits::connections) {
    return Failure(Error{ErrorCode::resource_exhausted,
                         "node " + to_string(id) + " has " + std::to_string(Limits::connections) +
                             " control connections to this node already"});
  }
  peer.info.id = id;
  const auto session = handshake.mine().session;
  peer.connections.emplace(connection, session);
  sessions_.try_emplace(session, Session{id, SessionKey(handshake.key_from_peer())});
  return {};
}

void PeerTable::introduce(const Handshake& handshake) {
  const auto& theirs = handshake.theirs();
  const auto known = peers_.find(theirs.info.id);
  // Where both sides called, the first call has done it all.
  if (known == peers_.end() || known->second.endpoint != nullptr) return;
  auto& peer = known->second;
  peer.info = theirs.info;
  peer.session_out = theirs.session;
  peer.key_out.emplace(handshake.key_to_peer());
  const auto id = theirs.info.id;
  auto endpoint = worker_.open(theirs.worker_address, [this, id](const Error& why) {
    failed_.emplace_back(id, why);  // UCX forbids closing it in here
  });
  if (!endpoint) {
    failed_.emplace_back(id, endpoint.error());
    return;
  }
  peer.endpoint = *endpoint;
  FrameWriter hello(worker_.header_limit());
  Frame frame;
  frame.header.kind = FrameKind::hello;
  hello.add(frame);
  transmit(peer, hello);
  rise_if_ready(peer);
}

void PeerTable::disconnect(const NodeId& id, int connection, const Error& why) {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  auto& peer = it->second;
  const auto ended = peer.connections.find(connection);
  if (ended == peer.connections.end()) return;
  // The session that the peer uses stays until the peer goes.
  if (ended->second != peer.session_in) sessions_.erase(ended->second);
  peer.connections.erase(ended);
  if (peer.connections.empty()) bury(id, why);
}

bool PeerTable::send(const NodeId& to, std::span<Outgoing> frames) {
  const auto it = peers_.find(to);
  if (it == peers_.end() || !it->second.up) return false;
  for (auto& outgoing : frames) send(it->second, std::move(outgoing));
  return true;
}

void PeerTable::send(Peer& peer, Outgoing outgoing) {
  const auto target = outgoing.frame.header.target;
  const auto size = outgoing.frame.size();
  if (needs_credit(outgoing.frame.header) && !peer.credits.charge(target, size)) {
    peer.credits.park(target, size, std::move(outgoing));
  } else {
    enqueue(peer, std::move(outgoing));
  }
}

void PeerTable::enqueue(Peer& peer, Outgoing outgoing) {
  peer.queued += outgoing.frame.size();
  peer.queue.push(std::move(outgoing));
}

void PeerTable::flush() {
  give_credit();
  for (auto& [id, peer] : peers_) {
    if (!peer.queue.empty()) flush(peer);
  }
}

void PeerTable::flush(Peer& peer) {
  FrameWriter writer(worker_.header_limit());
  std::size_t packed = 0;
  while (!peer.queue.empty() && may_go(peer, peer.queue.front().frame.size(), packed)) {
    auto outgoing = peer.queue.pop();
    const auto size = outgoing.frame.size();
    peer.queued -= size;
    if (!set_remaining(outgoing)) {
      // Nobody waits for it: its credit comes back at once.
      FrameHeader expired = outgoing.frame.header;
      expired.message_id = 1;
      expired.type = size;
      take_credit(peer, expired);
      continue;
    }
    if (!writer.fits(outgoing.frame)) {
      transmit(peer, writer);
      packed = 0;
    }
    writer.add(outgoing.frame);
    packed += size;
  }
  if (!writer.empty()) transmit(peer, writer);
  // Messages are bounded by credits, but not what answers those of the peer.
  if (peer.queue.size() > Limits::unread_frames || peer.queued > Limits::unread_bytes) {
    lose(peer.info.id, {ErrorCode::resource_exhausted, "it does not read what it is sent"});
  }
}

bool PeerTable::may_go(Peer& peer, std::size_t size, std::size_t packed) {
  const bool quiet = *peer.in_flight == 0;
  if (quiet) peer.ahead = peer.messages_ahead = 0;
  if (quiet && packed == 0) return true;
  return *peer.in_flight + packed + size <= Limits::in_flight &&
         peer.ahead + packed + size <= Limits::ahead &&
         peer.messages_ahead < Limits::messages_ahead;
}

void PeerTable::transmit(Peer& peer, FrameWriter& writer) {
  auto sealed = writer.seal(peer.session_out, peer.next_sequence++, *peer.key_out, encrypt_);
  peer.ahead += sealed.size();
  ++peer.messages_ahead;
  worker_.send(peer.endpoint, std::move(sealed), peer.in_flight);
}

bool PeerTable::idle() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const auto& entry) {
    return entry.second.queue.empty() && *entry.second.in_flight == 0;
  });
}

void PeerTable::note_dropped(const std::string& what) {
  // The 1st, 2nd, 4th, 8th, ...: an attacker must not fill the log.
  if (std::has_single_bit(++dropped_))
    log_warn("dropped {} message(s); the last: {}", dropped_, what);
}

std::shared_ptr<std::size_t> PeerTable::admit(std::span<const std::byte> header,
                                              std::size_t payload) {
  const auto envelope = parse_envelope(header);
  const auto session = envelope ? sessions_.find(envelope->session) : sessions_.end();
  if (session == sessions_.end()) {
    note_dropped(envelope ? "a message of nobody that we know" : envelope.error().what);
    return nullptr;
  }
  const auto& id = session->second.peer;
  auto& peer = peers_.at(id);
  if (peer.lost) return nullptr;
  const auto fetched = *peer.fetched;
  if (payload > max_payload || (fetched > 0 && fetched + payload > Limits::fetched)) {
    lose(id, {ErrorCode::resource_exhausted, "it sends larger messages than it may at once"});
    return nullptr;
  }
  return peer.fetched;
}

void PeerTable::receive(Buffer header, Buffer payload) {
  const auto envelope = parse_envelope(header.bytes());
  const auto session = envelope ? sessions_.find(envelope->session) : sessions_.end();
  if (session == sessions_.end()) return;  // the peer died while its payload was on the way
  const NodeId id = session->second.peer;
  auto& peer = peers_.at(id);
  if (peer.lost) return;
  auto frames = open_frames(header, payload, session->second.key, encrypt_);
  if (!frames) {
    // Whoever cannot make a tag is not the peer, and must not be able to take it down.
    note_dropped(to_string(id) + ": " + frames.error().what);
    if (frames.error().code != ErrorCode::permission_denied) lose(id, frames.error());
    return;
  }
  if (peer.session_in == 0) peer.session_in = envelope->session;
  if (peer.session_in != envelope->session) {
    return lose(id, {ErrorCode::corrupt, "it changes from one session to another"});
  }
  const auto size = header.size + payload.size;
  take_in(peer, envelope->sequence, {std::move(*frames), size});
}

void PeerTable::take_in(Peer& peer, std::uint64_t sequence, Arrived message) {
  const NodeId id = peer.info.id;
  if (sequence >= peer.reorder.next() + Reorder<Arrived>::window) {
    return lose(id, {ErrorCode::corrupt, "it sends far ahead of a message that does not come"});
  }
  const auto size = message.size;
  peer.waiting += size;
  auto pushed = peer.reorder.push(sequence, std::move(message), [&](Arrived ready) {
    peer.waiting -= ready.size;
    deliver(peer, std::move(ready.frames));
  });
  if (!pushed) {
    peer.waiting -= size;
    note_dropped(to_string(id) + ": " + pushed.error().what);
  }
  if (peer.waiting > Limits::waiting) {
    lose(id, {ErrorCode::resource_exhausted, "it sends too much behind a message that is missing"});
  }
}

void PeerTable::deliver(Peer& peer, std::vector<Frame> frames) {
  if (peer.lost) return;
  if (!returns_->watch(peer.info.id, frames)) {
    return lose(peer.info.id, {ErrorCode::corrupt, "it sends more than its credit"});
  }
  for (auto& frame : frames) deliver(peer, std::move(frame));
}

void PeerTable::deliver(Peer& peer, Frame frame) {
  if (peer.lost) return;
  const auto& id = peer.info.id;
  if (frame.header.kind == FrameKind::hello) {
    peer.greeted = true;
    rise_if_ready(peer);
  } else if (!peer.up) {
    lose(id, {ErrorCode::corrupt, "a frame before the hello"});
  } else if (frame.header.kind == FrameKind::credit) {
    take_credit(peer, frame.header);
  } else {
    handler_.on_frame(id, std::move(frame));
  }
}

void PeerTable::take_credit(Peer& peer, const FrameHeader& header) {
  peer.credits.give_back(header.target, {header.message_id, header.type},
                         [&](Outgoing outgoing) { enqueue(peer, std::move(outgoing)); });
}

void PeerTable::give_credit() {
  for (const auto& [key, amount] : returns_->collect()) {
    Outgoing outgoing;
    outgoing.frame.header.kind = FrameKind::credit;
    outgoing.frame.header.target = key.second;
    outgoing.frame.header.message_id = amount.messages;
    outgoing.frame.header.type = amount.bytes;
    (void)send(key.first, std::span(&outgoing, 1));
  }
}

void PeerTable::rise_if_ready(Peer& peer) {
  if (peer.up || !peer.greeted || peer.endpoint == nullptr) return;
  peer.up = true;
  log_debug("node {} is up", to_string(peer.info.id));
  handler_.on_peer_up(peer.info);
}

std::vector<int> PeerTable::bury_failed() {
  for (const auto& [id, why] : std::exchange(failed_, {})) bury(id, why);
  return std::exchange(orphans_, {});
}

void PeerTable::bury(const NodeId& id, const Error& why) {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  if (it->second.endpoint != nullptr) worker_.close(it->second.endpoint);
  sessions_.erase(it->second.session_in);
  for (const auto& [connection, session] : it->second.connections) {
    sessions_.erase(session);
    orphans_.push_back(connection);
  }
  const bool was_up = it->second.up;
  peers_.erase(it);
  returns_->forget(id);
  if (was_up) dead_.add(id, Clock::now());
  buried_.push_back(id);
  log_debug("node {} is down: {}", to_string(id), why.what);
  if (was_up) handler_.on_peer_down(id, why);
}

}  // namespace troupe
