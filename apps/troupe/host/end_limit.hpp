// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace troupe {

/// Ends the process with status 1 if it still exists after so long: actors get some time to end,
/// but a process that hangs helps nobody.
class EndLimit {
 public:
  /// `what` did not happen in time.
  EndLimit(std::chrono::seconds limit, std::string what);
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace troupe
