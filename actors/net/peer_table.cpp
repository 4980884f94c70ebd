// SPDX-License-Identifier: Apache-2.0
#include "actors/net/peer_table.hpp"

#include "actors/base/log.hpp"

namespace troupe {

PeerTable::~PeerTable() {
  for (auto& [id, peer] : peers_) {
    if (peer.endpoint != nullptr) worker_.close(peer.endpoint);
  }
}

bool PeerTable::is_up(const NodeId& id) const {
  const auto it = peers_.find(id);
  return it != peers_.end() && it->second.up;
}

void PeerTable::expect(const NodeId& id, std::uint64_t session, int connection) {
  auto& peer = peers_[id];
  peer.info.id = id;
  peer.connections.insert(connection);
  peer.sessions_in.push_back(session);
  sessions_.emplace(session, id);
}

void PeerTable::introduce(const Introduction& theirs) {
  const auto known = peers_.find(theirs.info.id);
  // Where both sides called, the first call has done it all.
  if (known == peers_.end() || known->second.endpoint != nullptr) return;
  auto& peer = known->second;
  peer.info = theirs.info;
  peer.session_out = theirs.session;
  const auto id = theirs.info.id;
  auto endpoint = worker_.open(theirs.worker_address, [this, id](const Error& why) {
    failed_.emplace_back(id, why);  // UCX forbids closing it in here
  });
  if (!endpoint) {
    failed_.emplace_back(id, endpoint.error());
    return;
  }
  peer.endpoint = *endpoint;
  Frame hello;
  hello.header.kind = FrameKind::hello;
  transmit(peer, std::move(hello));
  rise_if_ready(peer);
}

void PeerTable::disconnect(const NodeId& id, int connection, const Error& why) {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  it->second.connections.erase(connection);
  if (it->second.connections.empty()) bury(id, why);
}

void PeerTable::send(const NodeId& to, Frame frame) {
  const auto it = peers_.find(to);
  if (it != peers_.end() && it->second.up) transmit(it->second, std::move(frame));
}

void PeerTable::transmit(Peer& peer, Frame frame) {
  frame.header.session = peer.session_out;
  frame.header.sequence = peer.next_sequence++;
  worker_.send(peer.endpoint, std::move(frame));
}

bool PeerTable::admits(const FrameHeader& header) const {
  return sessions_.contains(header.session);
}

void PeerTable::receive(Frame frame) {
  const auto session = sessions_.find(frame.header.session);
  if (session == sessions_.end()) return;  // the peer died while its payload was on the way
  const NodeId id = session->second;
  auto pushed = peers_.at(id).reorder.push(std::move(frame),
                                           [&](Frame ready) { deliver(id, std::move(ready)); });
  if (!pushed) failed_.emplace_back(id, pushed.error());
}

void PeerTable::deliver(const NodeId& id, Frame frame) {
  auto& peer = peers_.at(id);
  if (frame.header.kind == FrameKind::hello) {
    peer.greeted = true;
    rise_if_ready(peer);
  } else if (peer.up) {
    handler_.on_frame(id, std::move(frame));
  } else {
    failed_.emplace_back(id, Error{ErrorCode::corrupt, "a frame before the hello"});
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
  dead_.insert(id);
  log_debug("node {} is down: {}", to_string(id), why.what);
  if (was_up) handler_.on_peer_down(id, why);
}

}  // namespace troupe
