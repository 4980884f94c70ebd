// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace troupe {

/// A few threads that do what is put into the queue; they start when there is something to do. What
/// has not begun when the queue is destroyed is done before it goes. Safe from any thread.
class WorkQueue {
 public:
  explicit WorkQueue(std::size_t threads) : most_(threads) {}
  WorkQueue(const WorkQueue&) = delete;
  ~WorkQueue();

  void add(std::function<void()> work);

 private:
  void run();

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> work_;
  std::size_t idle_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
