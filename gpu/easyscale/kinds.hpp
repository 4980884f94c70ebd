// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "gpu/easyscale/train_programs.hpp"

namespace troupe {

/// Makes kind `easyscale.trainer` known: its keys, what makes no sense in them, and the coordinator
/// that leads a group. For programs without torch.
void register_easyscale(ActorKinds& kinds);

/// The same for a program that hosts trainers of these training programs.
void register_easyscale_trainer(ActorKinds& kinds, TrainPrograms programs);

}  // namespace troupe
