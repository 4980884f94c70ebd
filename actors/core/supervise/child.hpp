// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/snapshot.hpp"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace troupe {

/// One life of one child. Its destructor ends whatever is left of it.
class ChildLife {
 public:
  virtual ~ChildLife() = default;
  /// Begins an orderly end; the supervisor has told the actor already.
  virtual void ask_to_stop() {}
  /// The process on this host that it is; 0: in this one, or not known.
  [[nodiscard]] virtual int pid() const { return 0; }
  /// Ends it now. True: it is gone for certain; false: its actor's DOWN is still to come, or, where
  /// it has not come up yet, the report of its start.
  [[nodiscard]] virtual bool end() = 0;
  /// Why it ended, if it knows better than the actor's exit reason ("killed by signal 9").
  [[nodiscard]] virtual std::string post_mortem() { return {}; }
  /// What it was lost with, such as the node that it was on; empty: it ended for itself. May wait a
  /// moment for the news.
  [[nodiscard]] virtual std::string lost_with() { return {}; }
};

/// Starts a child, as often as it is needed.
class ChildStarter {
 public:
  using Report = std::function<void(Result<caf::actor>)>;

  virtual ~ChildStarter() = default;
  /// Begins; `report` is called exactly once, from any thread, unless the life is destroyed before.
  /// `kept` goes to the child.
  [[nodiscard]] virtual std::unique_ptr<ChildLife> start(Report report, const Kept& kept) = 0;
};

}  // namespace troupe
