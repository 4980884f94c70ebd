// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/work_queue.hpp"

#include <utility>

namespace troupe {

WorkQueue::~WorkQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  ready_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void WorkQueue::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    if (idle_ < work_.size() && threads_.size() < most_) {
      threads_.emplace_back([this] { run(); });
    }
  }
  ready_.notify_one();
}

void WorkQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    ready_.wait(lock, [this] { return stopping_ || !work_.empty(); });
    --idle_;
    if (work_.empty()) return;
    auto work = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace troupe
