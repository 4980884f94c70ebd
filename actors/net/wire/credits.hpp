// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/wire/fifo.hpp"
#include "messages/frame.hpp"
#include "messages/ids.hpp"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <utility>

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
    auto& stream = stream_of(target);
    if (!stream.waiting.empty() || !open(stream)) return false;
    add(stream, size);
    return true;
  }
  void park(ActorNumber target, std::size_t size, Item item) {
    stream_of(target).waiting.push({size, std::move(item)});
  }
  /// The target has done with so much; calls `ready(Item)` for what may go now, charged, in order.
  template <class Ready>
  void give_back(ActorNumber target, Amount done, Ready&& ready) {
    const auto it = streams_.find(target);
    if (it == streams_.end()) return;
    auto& stream = it->second;
    stream.out.messages -= std::min(stream.out.messages, done.messages);
    stream.out.bytes -= std::min(stream.out.bytes, done.bytes);
    while (!stream.waiting.empty() && open(stream)) {
      add(stream, stream.waiting.front().first);
      ready(stream.waiting.pop().second);
    }
    if (stream.out.messages > 0) return;
    if (last_ == &*it) last_ = nullptr;
    streams_.erase(it);
  }

 private:
  struct Stream {
    Amount out;
    Fifo<std::pair<std::size_t, Item>> waiting;
  };

  using Streams = std::unordered_map<ActorNumber, Stream>;

  Stream& stream_of(ActorNumber target) {
    if (last_ == nullptr || last_->first != target) last_ = &*streams_.try_emplace(target).first;
    return last_->second;
  }

  // One item more than the window's bytes may go out, so that none is too large for ever.
  [[nodiscard]] bool open(const Stream& stream) const {
    return stream.out.messages < window_.messages && stream.out.bytes < window_.bytes;
  }
  static void add(Stream& stream, std::size_t size) {
    ++stream.out.messages;
    stream.out.bytes += size;
  }

  CreditWindow window_;
  Streams streams_;
  typename Streams::value_type* last_ = nullptr;  ///< the one that was used last
};

}  // namespace troupe
