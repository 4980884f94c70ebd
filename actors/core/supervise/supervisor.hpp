// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/actor_observer.hpp"
#include "actors/core/event.hpp"
#include "actors/core/supervise/child.hpp"
#include "actors/core/supervise/supervisor_state.hpp"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class Node;

/// What a group's leader hears of its members. A member may go down without ever having come up.
struct MemberUp {
  using actor_message = void;
  std::uint32_t index = 0;
  caf::actor actor;
};
struct MemberDown {
  using actor_message = void;
  std::uint32_t index = 0;
  Error why;
  bool comes_back = true;  ///< its supervisor starts it again
};

struct ChildSpec {
  std::string path;  ///< "/jobs/digits/trainers/0"
  Restart restart = Restart::permanent;
  Shutdown shutdown;
  BackOff back_off;
  std::uint32_t index = 0;  ///< within its group
  caf::actor leader;        ///< hears of it; may be empty
  std::shared_ptr<ChildStarter> starter;
};

struct SupervisorSpec {
  std::string path;
  Strategy strategy = Strategy::one_for_one;
  std::uint64_t seed = 1;  ///< of the back-off's jitter
  RestartBudget budget{5, std::chrono::seconds(60)};
  std::vector<ChildSpec> children;
  EventSink emit;
  std::shared_ptr<ActorObserver> observer;  ///< may be empty
};

/// Starts its children in order, starts one again when it ends, with others if its strategy says
/// so, and gives up when that happens too often: then it stops all, and ends with an Error that
/// names the child and the first cause. Ends normally when no child is left that should live. When
/// it is told to exit it stops its children in reverse order, one after the other. The decisions
/// are those of supervise::State (supervisor_state.hpp). Tells the node's PathRouter who lives
/// where, and keeps what each child leaves for its next life (keep_snapshot()). Understands
/// EndChild (actor_observer.hpp).
[[nodiscard]] caf::actor spawn_supervisor(Node& node, SupervisorSpec spec);

}  // namespace troupe
