// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/credits.hpp"

namespace troupe {

bool needs_credit(const FrameHeader& header) {
  constexpr std::uint64_t response_bit = std::uint64_t{1} << 63;  // of CAF's message ids
  return header.kind == FrameKind::data && (header.message_id & response_bit) == 0;
}

/// What a delivered frame's bytes hang on.
struct CreditReturns::Held {
  Held(std::shared_ptr<CreditReturns> to, const NodeId& peer, const Frame& frame)
      : returns(std::move(to)),
        from(peer),
        target(frame.header.target),
        size(frame.size()),
        body(frame.body),
        blob(frame.blob) {}
  ~Held() { returns->done(from, target, size); }
  Held(const Held&) = delete;

  std::shared_ptr<CreditReturns> returns;
  NodeId from;
  ActorNumber target;
  std::size_t size;
  Slice body;
  Slice blob;
};

bool CreditReturns::watch(const NodeId& from, Frame& frame) {
  auto held = std::make_shared<Held>(shared_from_this(), from, frame);
  const auto* last = held.get();
  const auto target = frame.header.target;
  frame.blob = Slice(held, last->blob.bytes());
  frame.body = Slice(held, last->body.bytes());
  const std::lock_guard lock(mutex_);
  auto& sum = held_[{from, target}];
  ++sum.messages;
  sum.bytes += held->size;
  // What was given back and is still on its way to the sender counts twice for a while.
  return sum.messages <= 2 * window_.messages &&
         sum.bytes <= 2 * window_.bytes + max_blob_bytes + max_body_bytes;
}

void CreditReturns::done(const NodeId& from, ActorNumber target, std::size_t size) {
  const std::lock_guard lock(mutex_);
  const auto held = held_.find({from, target});
  if (held == held_.end()) return;  // the peer is gone
  held->second.bytes -= size;
  if (--held->second.messages == 0) held_.erase(held);
  auto& sum = done_[{from, target}];
  const auto due = [&] {
    return sum.messages * 2 >= window_.messages || sum.bytes * 2 >= window_.bytes;
  };
  const bool was_due = due();
  ++sum.messages;
  sum.bytes += size;
  if (was_due || !due()) return;
  ready_.emplace_back(from, target);
  if (due_) due_();
}

std::vector<std::pair<std::pair<NodeId, ActorNumber>, Amount>> CreditReturns::collect() {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::pair<NodeId, ActorNumber>, Amount>> result;
  for (const auto& key : ready_) {
    const auto it = done_.find(key);
    if (it == done_.end()) continue;
    result.emplace_back(key, it->second);
    done_.erase(it);
  }
  ready_.clear();
  return result;
}

void CreditReturns::forget(const NodeId& peer) {
  const std::lock_guard lock(mutex_);
  const auto of_peer = [&](const auto& entry) { return entry.first.first == peer; };
  std::erase_if(done_, of_peer);
  std::erase_if(held_, of_peer);
}

void CreditReturns::close() {
  const std::lock_guard lock(mutex_);
  due_ = nullptr;
  done_.clear();
  held_.clear();
}

}  // namespace troupe
