// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/determinism.hpp"
#include "gpu/easyscale/job/reduction.hpp"
#include "gpu/easyscale/job/view.hpp"
#include "gpu/easyscale/replica.hpp"
#include "gpu/easyscale/train_programs.hpp"

#include <caf/actor.hpp>

namespace troupe {
class Node;
}

namespace troupe::easyscale {

struct TrainerSpec {
  std::string path;     ///< its address; for its log
  std::string program;  ///< the name of a TrainProgram
  TrainPrograms programs;
  ReplicaOptions options;
  Member member = 0;
  std::uint32_t group = 1;          ///< how many members there can be
  Reducer reducer = Reducer::tree;  ///< with D0 it is a chain
  Determinism determinism = Determinism::d1;
  int state_fd = -1;  ///< of the host's StepSlots; -1: nothing is kept outside the process
};

/// A trainer: member_state.hpp as an actor with a replica. It has a thread of its own, computes one
/// rank per handler, and reads its messages in between. It makes its replica when its coordinator
/// attaches it, so that whatever is wrong then is reported there instead of being tried again.
[[nodiscard]] caf::actor spawn_trainer(Node& node, TrainerSpec spec);

}  // namespace troupe::easyscale
