// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/peer/line_channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace troupe::bench {

Result<std::pair<Fd, Fd>> LineChannel::make_sockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail(ErrorCode::resource_exhausted, "socketpair: " + errno_text(errno));
  }
  return std::pair(Fd(ends[0]), Fd(ends[1]));
}

Result<void> LineChannel::send(const std::string& line) {
  const auto bytes = line + "\n";
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const auto count =
        ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(ErrorCode::unavailable, "the other process: " + errno_text(errno));
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<std::string> LineChannel::receive(std::optional<Clock::time_point> until) {
  auto end = received_.find('\n');
  while (end == std::string::npos) {
    if (auto filled = fill(until); !filled) return Failure(filled.error());
    end = received_.find('\n');
  }
  auto line = received_.substr(0, end);
  received_.erase(0, end + 1);
  return line;
}

Result<void> LineChannel::fill(std::optional<Clock::time_point> until) {
  int wait = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now()).count();
    wait = static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000));
  }
  pollfd event{socket_.get(), POLLIN, 0};
  const int ready = ::poll(&event, 1, wait);
  if (ready == 0) return fail(ErrorCode::timeout, "no answer in time");
  if (ready < 0) return {};  // interrupted: the caller tries again
  char buffer[4096];
  const auto count = ::read(socket_.get(), buffer, sizeof buffer);
  if (count < 0 && errno == EINTR) return {};
  if (count <= 0) return fail(ErrorCode::unavailable, "the other process has ended");
  received_.append(buffer, static_cast<std::size_t>(count));
  return {};
}

}  // namespace troupe::bench
