// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "messages/units.hpp"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace troupe {

/// SIGINT and SIGTERM as something to wait for. Made by a command before there are threads: it
/// blocks the two signals for all of them.
class Signals {
 public:
  Signals();

  /// Sleeps until a signal comes, `wake` is signalled or the time is over. Gives the signal, if
  /// any.
  [[nodiscard]] std::optional<int> wait(const WakeUp& wake, Millis limit) const;

  /// Ends this process by `signal`, so that whoever started it sees that.
  [[noreturn]] static void die_of(int signal);

 private:
  Fd fd_;
};

/// A queue from any thread to the one that waits on wake().
template <class T>
class Inbox {
 public:
  void put(T value) {
    {
      const std::lock_guard lock(mutex_);
      values_.push_back(std::move(value));
    }
    wake_.signal();
  }
  [[nodiscard]] std::vector<T> take() {
    wake_.clear();
    const std::lock_guard lock(mutex_);
    return std::exchange(values_, {});
  }
  [[nodiscard]] const WakeUp& wake() const { return wake_; }

 private:
  std::mutex mutex_;
  std::vector<T> values_;
  WakeUp wake_;
};

}  // namespace troupe
