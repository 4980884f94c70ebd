// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "actors/net/wire/backlog.hpp"
#include "messages/frame.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// A frame on its way out. `due`: nobody waits for it any more after that.
struct Outgoing {
  Frame frame;
  Charge charge;
  std::optional<std::chrono::steady_clock::time_point> due;
};

/// What other threads want from the transport's thread. Whatever puts something in is safe from any
/// thread, the rest is for that thread. Outlives the charges of what it has given out.
class Outbox {
 public:
  struct Call {
    Address to;
    std::optional<NodeId> expected;
  };

  /// Queues the frame; false: too much waits for `to`, and the frame is not taken.
  [[nodiscard]] bool put(const NodeId& to, Frame frame);
  void call(Call call);
  void drop(const NodeId& id, const Error& why);
  void wake();

  /// Makes of the frame what put() would have queued; nothing where too much waits.
  [[nodiscard]] std::optional<Outgoing> pass(const NodeId& to, Frame frame);
  /// Takes all frames, in order, into `frames`, which must be empty; the memory that it has is used
  /// again. The owner is awake and will ask again before it sleeps.
  void take(std::vector<Outgoing>& frames);
  [[nodiscard]] std::vector<Call> take_calls();
  /// Who is to be declared dead, and why.
  [[nodiscard]] std::vector<std::pair<NodeId, Error>> take_drops();
  /// The owner wants to sleep; false: there is something to do.
  [[nodiscard]] bool may_sleep();
  void awake();
  /// Nothing goes to this peer any more.
  void forget(const NodeId& peer);
  [[nodiscard]] const WakeUp& event() const { return wake_; }

 private:
  [[nodiscard]] std::optional<Charge> charge(const NodeId& to, const Frame& frame);
  void wake_if_asleep();

  std::mutex mutex_;
  std::unordered_map<NodeId, std::unique_ptr<Backlog>> backlogs_;
  std::vector<std::unique_ptr<Backlog>> retired_;  ///< of peers that are gone, not empty yet
  Backlog* last_ = nullptr;                        ///< the one that was used last
  std::vector<Outgoing> frames_;
  std::vector<Call> calls_;
  std::vector<std::pair<NodeId, Error>> drops_;
  std::atomic<bool> calls_wait_{false};  ///< these two: as below
  std::atomic<bool> drops_wait_{false};
  std::atomic<bool> filled_{false};  ///< there may be frames: saves a lock where there are none
  bool asleep_ = false;
  bool wanted_ = false;  ///< somebody asked for attention since the owner woke up
  WakeUp wake_;
};

}  // namespace troupe
