// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/job_state.hpp"

#include <optional>
#include <string>

namespace troupe::easyscale {

/// Notices that a job stands still, and for what it waits. Owned by the coordinator, which tells it
/// of every input and asks it now and then.
class WaitWatch {
 public:
  explicit WaitWatch(Seconds now) : moved_(now) {}

  /// Something came in.
  void moved(Seconds now);

  /// What the job waits for, if that is to be said now: after 2 s without any input, again whenever
  /// it becomes something else, and every 10 s.
  [[nodiscard]] std::optional<std::string> tick(const JobState& job, Seconds now);

 private:
  Seconds moved_;
  std::string what_;  // said last, since the job moved
  Seconds said_{0};
};

}  // namespace troupe::easyscale
