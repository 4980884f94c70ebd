// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/frame.hpp"

#include <cstdint>
#include <map>
#include <utility>

namespace troupe {

/// Puts one peer's frames back into the order of their sequence numbers: UCX keeps the order of
/// eager messages among themselves only, not against those that go by rendezvous. Called from the
/// transport's thread.
class Reorder {
 public:
  /// Frames that may wait for a missing one.
  static constexpr std::size_t window = 65536;

  /// Takes one frame and calls `deliver(Frame)` for all that are next in order.
  template <class Deliver>
  Result<void> push(Frame frame, Deliver&& deliver) {
    const auto sequence = frame.header.sequence;
    if (sequence < next_ || waiting_.contains(sequence)) {
      return fail(ErrorCode::corrupt, "a frame that was there already");
    }
    if (sequence - next_ >= window) return fail(ErrorCode::corrupt, "a frame from too far ahead");
    waiting_.emplace(sequence, std::move(frame));
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      Frame ready = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      ++next_;
      deliver(std::move(ready));
    }
    return {};
  }

 private:
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, Frame> waiting_;
};

}  // namespace troupe
