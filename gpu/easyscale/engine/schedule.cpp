// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/schedule.hpp"

#include <torch/optim/optimizer.h>

#include <algorithm>
#include <cmath>

namespace troupe::easyscale {

double cosine(std::uint64_t step, std::uint64_t steps, double last) {
  constexpr double pi = 3.14159265358979323846;
  const double done = static_cast<double>(step) / static_cast<double>(std::max(steps, step + 1));
  return last + (1 - last) * 0.5 * (1 + std::cos(pi * done));
}

double warmup_cosine(std::uint64_t step, std::uint64_t steps, std::uint64_t warmup, double last) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  return cosine(step - warmup, steps - std::min(steps, warmup), last);
}

double staircase(std::uint64_t step, std::uint64_t every, double factor) {
  return std::pow(factor, static_cast<double>(step / std::max<std::uint64_t>(every, 1)));
}

void set_rate(torch::optim::Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

}  // namespace troupe::easyscale
