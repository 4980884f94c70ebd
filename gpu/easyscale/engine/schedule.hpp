// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace torch::optim {
class Optimizer;
}

namespace troupe::easyscale {

// Learning rates as functions of the step, for TrainProgram::schedule: there is no scheduler state
// to keep. `step` counts from 0, `steps` is how many there are. All give a factor of the highest
// rate.

/// Down from 1 to `last` along half a cosine.
[[nodiscard]] double cosine(std::uint64_t step, std::uint64_t steps, double last = 0);
/// Up to 1 along a straight line in the first `warmup` steps, then `cosine` over those that remain.
[[nodiscard]] double warmup_cosine(std::uint64_t step, std::uint64_t steps, std::uint64_t warmup,
                                   double last = 0);
/// Times `factor` after every `every` steps.
[[nodiscard]] double staircase(std::uint64_t step, std::uint64_t every, double factor);

/// Sets the learning rate of all of an optimizer's groups.
void set_rate(torch::optim::Optimizer& optimizer, double rate);

}  // namespace troupe::easyscale
