// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/frame.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// How much may be on its way to one actor of another node. What it has received and not let go of
/// counts as well, so that a reader that stops bounds the memory of both nodes.
struct CreditWindow {
  std::uint64_t messages = 1024;
  std::uint64_t bytes = std::uint64_t{32} << 20;
};

/// Messages and their bytes.
struct Amount {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// Only messages and requests need credit. Replies do not: whoever asked has room for the answer;
/// nor does what keeps nodes informed of each other.
[[nodiscard]] bool needs_credit(const FrameHeader& header);

/// The sending side for one peer: who may still send to which of its actors, and what waits. Used
/// from the transport's thread only.
template <class Item>
class SendCredits {
 public:
  explicit SendCredits(CreditWindow window) : window_(window) {}

  /// May an item of this size go to `target` now? If so it is charged. Where something waits for
  /// the same target the answer is no: order is kept.
  [[nodiscard]] bool charge(ActorNumber target, std::size_t size) {
    auto& stream = streams_[target];
    if (!stream.waiting.empty() || !open(stream)) return false;
    add(stream, size);
    return true;
  }
  void park(ActorNumber target, std::size_t size, Item item) {
    streams_[target].waiting.emplace_back(size, std::move(item));
  }
  /// The target has done with so much; gives what may go now, charged, in order.
  [[nodiscard]] std::vector<Item> give_back(ActorNumber target, Amount done) {
    const auto it = streams_.find(target);
    if (it == streams_.end()) return {};
    auto& stream = it->second;
    stream.out.messages -= std::min(stream.out.messages, done.messages);
    stream.out.bytes -= std::min(stream.out.bytes, done.bytes);
    std::vector<Item> ready;
    while (!stream.waiting.empty() && open(stream)) {
      add(stream, stream.waiting.front().first);
      ready.push_back(std::move(stream.waiting.front().second));
      stream.waiting.pop_front();
    }
    if (stream.out.messages == 0) streams_.erase(it);
    return ready;
  }

 private:
  struct Stream {
    Amount out;
    std::deque<std::pair<std::size_t, Item>> waiting;
  };

  // One item more than the window's bytes may go out, so that none is too large for ever.
  [[nodiscard]] bool open(const Stream& stream) const {
    return stream.out.messages < window_.messages && stream.out.bytes < window_.bytes;
  }
  static void add(Stream& stream, std::size_t size) {
    ++stream.out.messages;
    stream.out.bytes += size;
  }

  CreditWindow window_;
  std::unordered_map<ActorNumber, Stream> streams_;
};

/// The receiving side: frames that were delivered are done with when nobody holds their bytes any
/// more, on whichever thread that is. Shared by all of them, and safe from any thread.
class CreditReturns : public std::enable_shared_from_this<CreditReturns> {
 public:
  /// `due` is called, from any thread, when there is something to collect.
  CreditReturns(CreditWindow window, std::function<void()> due)
      : window_(window), due_(std::move(due)) {}

  /// Makes the frame's bytes report their end for (`from`, its target). False: the peer sends far
  /// more than its window allows.
  [[nodiscard]] bool watch(const NodeId& from, Frame& frame);
  /// What is to be given back now: whatever has come to half a window.
  [[nodiscard]] std::vector<std::pair<std::pair<NodeId, ActorNumber>, Amount>> collect();
  /// Nothing more is reported to this peer.
  void forget(const NodeId& peer);
  /// The transport is gone: nobody collects.
  void close();

 private:
  struct Held;

  void done(const NodeId& from, ActorNumber target, std::size_t size);

  CreditWindow window_;
  std::mutex mutex_;
  std::function<void()> due_;
  std::map<std::pair<NodeId, ActorNumber>, Amount> held_;  ///< delivered, and still in use
  std::map<std::pair<NodeId, ActorNumber>, Amount> done_;  ///< to be given back
  std::vector<std::pair<NodeId, ActorNumber>> ready_;
};

}  // namespace troupe
