// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

namespace troupe {

/// Puts one peer's messages back into the order of their sequence numbers: UCX keeps the order of
/// eager messages among themselves only, not against those that go by rendezvous. Refuses what was
/// there already. Called from the transport's thread.
template <class T>
class Reorder {
 public:
  /// Messages that may wait for a missing one.
  static constexpr std::size_t window = 65536;

  /// The sequence number that is to come next.
  [[nodiscard]] std::uint64_t next() const { return next_; }

  /// Takes one message and calls `deliver(T)` for all that are next in order.
  template <class Deliver>
  Result<void> push(std::uint64_t sequence, T message, Deliver&& deliver) {
    if (sequence < next_ || waiting_.contains(sequence)) {
      return fail(ErrorCode::corrupt, "it was there already");
    }
    if (sequence - next_ >= window) return fail(ErrorCode::corrupt, "it is from too far ahead");
    if (sequence > next_) {
      waiting_.emplace(sequence, std::move(message));
      return {};
    }
    ++next_;
    deliver(std::move(message));
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      auto ready = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      ++next_;
      deliver(std::move(ready));
    }
    return {};
  }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, T> waiting_;
};

}  // namespace troupe
