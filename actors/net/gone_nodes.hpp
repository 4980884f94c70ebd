// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <chrono>
#include <deque>
#include <unordered_set>
#include <utility>

namespace troupe {

/// The incarnations that were up and have died: they never come back. Remembers the last 4,096 for
/// as long as the process lives, and of more than those whoever died within ten minutes, but never
/// more than 65,536: by then a connection or a message of the dead one has long since ended. A
/// value: the time is a parameter.
class GoneNodes {
 public:
  using Time = std::chrono::steady_clock::time_point;

  static constexpr std::size_t kept_for_ever = 4096;
  static constexpr std::size_t most = 65536;
  static constexpr auto kept_at_least = std::chrono::minutes(10);

  void add(const NodeId& node, Time now) {
    if (nodes_.insert(node).second) order_.emplace_back(now, node);
    while (order_.size() > most ||
           (order_.size() > kept_for_ever && now - order_.front().first > kept_at_least)) {
      nodes_.erase(order_.front().second);
      order_.pop_front();
    }
  }
  [[nodiscard]] bool contains(const NodeId& node) const { return nodes_.contains(node); }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

 private:
  std::unordered_set<NodeId> nodes_;
  std::deque<std::pair<Time, NodeId>> order_;  ///< oldest first
};

}  // namespace troupe
