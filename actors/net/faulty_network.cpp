// SPDX-License-Identifier: Apache-2.0
#include "actors/net/faulty_network.hpp"

#include "actors/net/faulty_transport.hpp"

namespace troupe {
namespace {

std::pair<NodeId, NodeId> unordered(const NodeId& a, const NodeId& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

}  // namespace

FaultyNetwork::FaultyNetwork(FaultPlan plan) : plan_(std::move(plan)) {}
FaultyNetwork::~FaultyNetwork() = default;

std::unique_ptr<Transport> FaultyNetwork::make(PeerInfo self) {
  auto id = self.id;
  return wrap(LoopbackHub::make(std::move(self)), std::move(id));
}

std::unique_ptr<Transport> FaultyNetwork::wrap(std::unique_ptr<Transport> inner, NodeId self) {
  return std::make_unique<FaultyTransport>(*this, std::move(inner), std::move(self));
}

FaultCounts FaultyNetwork::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

FaultyNetwork::Path& FaultyNetwork::path(const NodeId& from, const NodeId& to) {
  auto& slot = paths_[{from, to}];
  if (!slot) slot = std::make_unique<Path>(plan_.seed, from, to);
  return *slot;
}

bool FaultyNetwork::declare_dead(const NodeId& a, const NodeId& b) {
  return dead_.insert(unordered(a, b)).second;
}

bool FaultyNetwork::is_dead(const NodeId& a, const NodeId& b) const {
  return dead_.contains(unordered(a, b));
}

/// Lets the planned events of a path happen that are due; true where it is cut by one.
bool FaultyNetwork::strikes(Path& path) {
  for (; path.next_event < plan_.events.size(); ++path.next_event) {
    const auto& event = plan_.events[path.next_event];
    if (event.from != path.from.name || event.to != path.to.name) continue;
    if (event.after >= path.frames) return false;
    apply(event.kind, path.from, path.to);
    if (event.kind == FaultEvent::Kind::cut) return true;
  }
  return false;
}

void FaultyNetwork::strike(FaultEvent::Kind kind, const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (const auto& [sender, a] : nodes_) {
    for (const auto& [receiver, b] : nodes_) {
      if (sender.name == from && receiver.name == to) apply(kind, sender, receiver);
    }
  }
}

void FaultyNetwork::apply(FaultEvent::Kind kind, const NodeId& from, const NodeId& to) {
  if (is_dead(from, to)) return;
  const auto node = nodes_.find(to);
  switch (kind) {
    case FaultEvent::Kind::cut:
      return sever(from, to, {ErrorCode::unavailable, "cut by plan"});
    case FaultEvent::Kind::partition:
      if (node != nodes_.end()) node->second->block(path(from, to));
      return;
    case FaultEvent::Kind::heal:
      if (node != nodes_.end()) node->second->release(path(from, to));
      return;
  }
}

void FaultyNetwork::sever(const NodeId& a, const NodeId& b, const Error& why) {
  if (!declare_dead(a, b)) return;
  ++counts_.cut;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const auto node = nodes_.find(to);
    if (node != nodes_.end()) node->second->lose(path(from, to), why);
  }
}

}  // namespace troupe
