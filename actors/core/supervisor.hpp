// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/actor_observer.hpp"
#include "actors/core/event.hpp"
#include "actors/core/restart_budget.hpp"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
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

/// One life of one child. Its destructor ends whatever is left of it.
class ChildLife {
 public:
  virtual ~ChildLife() = default;
  /// Begins an orderly end; the supervisor has told the actor already.
  virtual void ask_to_stop() {}
  /// The process on this host that it is; 0: in this one, or not known.
  [[nodiscard]] virtual int pid() const { return 0; }
  /// Why it ended, if it knows better than the actor's exit reason ("killed by signal 9").
  [[nodiscard]] virtual std::string post_mortem() { return {}; }
};

/// Starts a child, as often as it is needed.
class ChildStarter {
 public:
  using Report = std::function<void(Result<caf::actor>)>;

  virtual ~ChildStarter() = default;
  /// Begins; `report` is called exactly once, from any thread, unless the life is destroyed before.
  [[nodiscard]] virtual std::unique_ptr<ChildLife> start(Report report) = 0;
};

enum class Restart { permanent, transient, temporary };

struct ChildSpec {
  std::string path;  ///< "/jobs/digits/trainers/0"
  Restart restart = Restart::permanent;
  std::uint32_t index = 0;  ///< within its group
  caf::actor leader;        ///< hears of it; may be empty
  std::shared_ptr<ChildStarter> starter;
};

struct SupervisorSpec {
  std::string path;
  RestartBudget budget{5, std::chrono::seconds(60)};
  std::vector<ChildSpec> children;
  EventSink emit;
  std::shared_ptr<ActorObserver> observer;  ///< may be empty
};

/// Starts its children in order, starts one again when it ends (one_for_one), and gives up when
/// that happens too often: then it ends with an Error that names the child and the first cause.
/// Ends normally when no child is left that should live. When it is told to exit it stops its
/// children in reverse order, and kills what has not ended after 3 s. Understands EndChild
/// (actor_observer.hpp).
[[nodiscard]] caf::actor spawn_supervisor(Node& node, SupervisorSpec spec);

}  // namespace troupe
