// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/offer.hpp"

#include <algorithm>

namespace troupe {

NodeOffer make_offer(std::vector<std::string> labels, std::optional<double> cpus,
                     std::optional<Bytes> memory, const doctor::HostFacts& machine) {
  const double cores = machine.cores;
  const auto usable = std::min(machine.memory, machine.memory_limit.value_or(machine.memory));
  return {std::move(labels), cpus.value_or(std::min(cores, machine.cpu_quota.value_or(cores))),
          memory.value_or(usable)};
}

}  // namespace troupe
