// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace troupe {

/// A queue that uses its memory again: std::deque gets and returns a piece for every few items. Not
/// safe from several threads.
template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return head_ == items_.size(); }
  [[nodiscard]] std::size_t size() const { return items_.size() - head_; }
  [[nodiscard]] T& front() { return items_[head_]; }

  void push(T item) { items_.push_back(std::move(item)); }
  [[nodiscard]] T pop() {
    T item = std::move(items_[head_++]);
    if (empty()) {
      clear();
    } else if (head_ >= kept && head_ * 2 >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return item;
  }

 private:
  static constexpr std::size_t kept = 1024;  ///< items for which the memory stays

  void clear() {
    head_ = 0;
    items_.clear();
    if (items_.capacity() > 2 * kept) items_ = std::vector<T>();
  }

  std::vector<T> items_;  ///< those before head_ are moved away
  std::size_t head_ = 0;
};

}  // namespace troupe
