// SPDX-License-Identifier: Apache-2.0
#include "actors/net/peer_table.hpp"

#include "actors/base/log.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_in_flight = std::size_t{64} << 20;  // bytes per peer inside UCX

/// Tells the asker's remaining time; false: it has none left.
bool set_remaining(Outgoing& outgoing, Clock::time_point now) {
  if (!outgoing.due) return true;
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
  if (session != sessions_.end()) failed_.emplace_back(session->second.peer, why);
}

bool PeerTable::is_up(const NodeId& id) const {
  const auto it = peers_.find(id);
  return it != peers_.end() && it->second.up;
}

void PeerTable::expect(const Handshake& handshake, int connection) {
  const auto& id = handshake.peer()->id;
  auto& peer = peers_.try_emplace(id, window_).first->second;
  peer.info.id = id;
  peer.connections.insert(connection);
  peer.sessions_in.push_back(handshake.mine().session);
  sessions_.try_emplace(handshake.mine().session,
                        Session{id, SessionKey(handshake.key_from_peer())});
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
  it->second.connections.erase(connection);
  if (it->second.connections.empty()) bury(id, why);
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
    peer.queue.push(std::move(outgoing));
  }
}

void PeerTable::flush() {
  give_credit();
  for (auto& [id, peer] : peers_) {
    if (!peer.queue.empty()) flush(peer);
  }
}

void PeerTable::flush(Peer& peer) {
  FrameWriter writer(worker_.header_limit());
  const auto now = Clock::now();
  while (!peer.queue.empty() && *peer.in_flight < max_in_flight) {
    auto outgoing = peer.queue.pop();
    if (!set_remaining(outgoing, now)) {
      // Nobody waits for it: its credit comes back at once.
      FrameHeader expired = outgoing.frame.header;
      expired.message_id = 1;
      expired.type = outgoing.frame.size();
      take_credit(peer, expired);
      continue;
    }
    if (!writer.fits(outgoing.frame)) transmit(peer, writer);
    writer.add(outgoing.frame);
  }
  if (!writer.empty()) transmit(peer, writer);
}

void PeerTable::transmit(Peer& peer, FrameWriter& writer) {
  auto sealed = writer.seal(peer.session_out, peer.next_sequence++, *peer.key_out, encrypt_);
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

bool PeerTable::admits(std::span<const std::byte> header) {
  const auto envelope = parse_envelope(header);
  if (envelope && sessions_.contains(envelope->session)) return true;
  note_dropped(envelope ? "a message of nobody that we know" : envelope.error().what);
  return false;
}

void PeerTable::receive(Buffer header, Buffer payload) {
  const auto envelope = parse_envelope(header.bytes());
  const auto session = envelope ? sessions_.find(envelope->session) : sessions_.end();
  if (session == sessions_.end()) return;  // the peer died while its payload was on the way
  const NodeId id = session->second.peer;
  auto frames = open_frames(header, payload, session->second.key, encrypt_);
  if (!frames) {
    // Whoever cannot make a tag is not the peer, and must not be able to take it down.
    note_dropped(to_string(id) + ": " + frames.error().what);
    if (frames.error().code != ErrorCode::permission_denied) {
      failed_.emplace_back(id, frames.error());
    }
    return;
  }
  auto& peer = peers_.at(id);
  auto pushed =
      peer.reorder.push(envelope->sequence, std::move(*frames),
                        [&](std::vector<Frame> ready) { deliver(peer, std::move(ready)); });
  if (!pushed) note_dropped(to_string(id) + ": " + pushed.error().what);
}

void PeerTable::deliver(Peer& peer, std::vector<Frame> frames) {
  if (!returns_->watch(peer.info.id, frames)) {
    failed_.emplace_back(peer.info.id, Error{ErrorCode::corrupt, "it sends more than its credit"});
  }
  for (auto& frame : frames) deliver(peer, std::move(frame));
}

void PeerTable::deliver(Peer& peer, Frame frame) {
  const auto& id = peer.info.id;
  if (frame.header.kind == FrameKind::hello) {
    peer.greeted = true;
    rise_if_ready(peer);
  } else if (!peer.up) {
    failed_.emplace_back(id, Error{ErrorCode::corrupt, "a frame before the hello"});
  } else if (frame.header.kind == FrameKind::credit) {
    take_credit(peer, frame.header);
  } else {
    handler_.on_frame(id, std::move(frame));
  }
}

void PeerTable::take_credit(Peer& peer, const FrameHeader& header) {
  peer.credits.give_back(header.target, {header.message_id, header.type},
                         [&](Outgoing outgoing) { peer.queue.push(std::move(outgoing)); });
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
  for (const auto session : it->second.sessions_in) sessions_.erase(session);
  orphans_.insert(orphans_.end(), it->second.connections.begin(), it->second.connections.end());
  const bool was_up = it->second.up;
  peers_.erase(it);
  returns_->forget(id);
  if (was_up) dead_.add(id, Clock::now());
  buried_.push_back(id);
  log_debug("node {} is down: {}", to_string(id), why.what);
  if (was_up) handler_.on_peer_down(id, why);
}

}  // namespace troupe
