// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/host_table.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace troupe::model {

using Lives = std::vector<HostedLife>;
using Answer = std::function<void(Result<Lives>)>;

/// The requests of one process that have no answer yet: each is answered, or bounced when the
/// connection to the other node ends.
class RequestLine {
 public:
  std::uint64_t add(const NodeId& to, Answer then) {
    open_.emplace(++last_, Open{to, std::move(then), 0});
    return last_;
  }
  void answer(std::uint64_t number, Result<Lives> result) {
    const auto it = open_.find(number);
    if (it == open_.end()) return;
    const auto then = std::move(it->second.then);
    open_.erase(it);
    then(std::move(result));
  }
  void bounce(const NodeId& to, const Error& why) {
    std::vector<std::uint64_t> numbers;
    for (const auto& [number, one] : open_) {
      if (one.to == to) numbers.push_back(number);
    }
    for (const auto number : numbers) answer(number, Failure(why));
  }
  /// Gives how many requests have been open for exactly that many ticks of this process.
  std::size_t tick(std::uint64_t most) {
    std::size_t hung = 0;
    for (auto& [number, one] : open_) hung += ++one.ticks == most ? 1 : 0;
    return hung;
  }

 private:
  struct Open {
    NodeId to;
    Answer then;
    std::uint64_t ticks = 0;
  };
  std::map<std::uint64_t, Open> open_;
  std::uint64_t last_ = 0;
};

}  // namespace troupe::model
