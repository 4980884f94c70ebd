// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::bench {

enum class Work {
  ping_pong,  ///< messages there and back, one at a time; the figures: p50 and p99 in microseconds
  stream,     ///< messages one way until the last one is acknowledged; the figure: seconds
  /// Exposed memory pulled by the other process, one pull after the other, over one path; the
  /// figure: seconds.
  pull_memfd,
  pull_cma,
  pull_message,
};

/// Who handles the messages.
enum class Lane {
  scheduled,  ///< actors on the scheduler's threads
  inlined,    ///< actors on the network's own thread
  local,      ///< both actors in one process
};

/// One measurement.
struct Task {
  Work work = Work::ping_pong;
  Lane lane = Lane::scheduled;
  std::uint64_t bytes = 64;
  std::uint64_t count = 1;
  std::uint64_t window = 0;  ///< messages that may be unacknowledged; 0: any number

  /// How many messages the receiver counts before it acknowledges; 0: only the last one.
  [[nodiscard]] std::uint64_t ack_every() const { return window == 0 ? 0 : (window + 1) / 2; }
  friend bool operator==(const Task&, const Task&) = default;
};

/// A payload of at most this size travels in the message itself, a larger one beside it.
constexpr std::uint64_t max_inner_bytes = 4096;

[[nodiscard]] std::string to_line(const Task& task);
[[nodiscard]] Result<Task> parse_task(const std::string& line);

/// The value below which a share of them lies; `values` need no order and must not be empty.
[[nodiscard]] double percentile(std::vector<double> values, double share);
[[nodiscard]] inline double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}

}  // namespace troupe::bench
