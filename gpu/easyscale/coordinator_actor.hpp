// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"
#include "gpu/easyscale/checkpoint/checkpoint_link.hpp"
#include "gpu/easyscale/job/determinism.hpp"
#include "gpu/easyscale/job/job_state.hpp"

#include <caf/actor.hpp>

namespace troupe {
class Node;
}

namespace troupe::easyscale {

struct CoordinatorSpec {
  std::string path;  ///< the group's address; for its log
  JobPlan plan;
  EventSink emit;
  Determinism determinism = Determinism::d1;  ///< to tell
  CheckpointTerms checkpoints = {};
};

/// The leader of a group of trainers: job_state.hpp as an actor. Hears of its members from their
/// supervisor (MemberUp, MemberDown), ends normally when the job is done and otherwise with the
/// Error that ended it.
[[nodiscard]] caf::actor spawn_coordinator(Node& node, CoordinatorSpec spec);

}  // namespace troupe::easyscale
