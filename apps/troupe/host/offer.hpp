// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/membership/member.hpp"
#include "apps/troupe/doctor/probes.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What a node offers: what its user says, and otherwise the processors and the memory that this
/// process may use, as its control group limits them.
[[nodiscard]] NodeOffer make_offer(std::vector<std::string> labels, std::optional<double> cpus,
                                   std::optional<Bytes> memory, const doctor::HostFacts& machine);

}  // namespace troupe
