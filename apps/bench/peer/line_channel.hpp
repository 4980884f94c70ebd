// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace troupe::bench {

/// Lines of text to another process and from it, over a socket. Used by one thread.
class LineChannel {
 public:
  using Clock = std::chrono::steady_clock;

  explicit LineChannel(Fd socket) : socket_(std::move(socket)) {}
  /// Both ends; both are closed on exec.
  [[nodiscard]] static Result<std::pair<Fd, Fd>> make_sockets();

  [[nodiscard]] Result<void> send(const std::string& line);
  /// The next line, without its end. Errors: timeout, unavailable where the other end is closed.
  [[nodiscard]] Result<std::string> receive(std::optional<Clock::time_point> until = {});

 private:
  [[nodiscard]] Result<void> fill(std::optional<Clock::time_point> until);

  Fd socket_;
  std::string received_;
};

}  // namespace troupe::bench
