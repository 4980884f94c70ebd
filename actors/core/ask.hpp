// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/units.hpp"

#include <caf/duration.hpp>
#include <caf/message_priority.hpp>

#include <cstdint>
#include <utility>

namespace troupe {

/// How long the asker of the request that this thread is sending waits for its answer. CAF keeps a
/// request's time-out to itself; ask() says it here while the request passes through a proxy, so
/// that it travels in the frame: what waits too long is not sent, and handlers see by
/// Msg::is_late() that nobody waits for them.
class AskLimit {
 public:
  explicit AskLimit(Millis limit) : before_(std::exchange(current_, limit)) {}
  ~AskLimit() { current_ = before_; }
  AskLimit(const AskLimit&) = delete;

  /// Without ask() the default: requests to other nodes are never without limit.
  [[nodiscard]] static Millis current() { return current_; }
  static constexpr Millis default_limit{60000};

 private:
  static inline thread_local Millis current_ = default_limit;
  Millis before_;
};

/// `self->request(whom, limit, message)` with the limit known to the receiving node.
template <class Self, class Handle, class Message>
auto ask(Self&& self, const Handle& whom, Millis limit, Message message) {
  const AskLimit scope(limit);
  return self->request(whom, caf::duration(limit), std::move(message));
}

}  // namespace troupe
