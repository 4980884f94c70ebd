// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/message_id.hpp>

#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe {

/// The requests that actors of this node have sent to others and that are not answered yet. Nobody
/// but the node that was asked may answer, and whoever takes an entry out answers it: so every
/// request is answered once. Safe from any thread.
class PendingRequests {
 public:
  using Clock = std::chrono::steady_clock;

  struct Request {
    caf::strong_actor_ptr asker;
    caf::message_id id;
    NodeId asked;
    Clock::time_point due;
  };

  /// `asker`: the number by which the other node knows who asks.
  void add(ActorNumber asker, Request request);
  /// Who asked `from` that; null: nobody did.
  [[nodiscard]] caf::strong_actor_ptr take(const NodeId& from, ActorNumber asker,
                                           caf::message_id id);
  [[nodiscard]] std::vector<Request> take_asked(const NodeId& node);
  [[nodiscard]] std::vector<Request> take_overdue(Clock::time_point now);

 private:
  using Key = std::pair<ActorNumber, std::uint64_t>;

  [[nodiscard]] static Key key(ActorNumber asker, caf::message_id id);
  template <class Wanted>
  [[nodiscard]] std::vector<Request> take_if(Wanted&& wanted);

  std::mutex mutex_;
  std::map<Key, Request> requests_;
};

}  // namespace troupe
