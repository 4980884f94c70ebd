// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/supervisor_state.hpp"
#include "tests/model/cluster/schedule.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::model {

/// What happens to a cluster with a store; follows from the seed alone.
struct ClusterSchedule {
  struct Span {
    Millis at{0};
    Millis length{0};
  };
  struct Crash {
    Millis at{0};
    std::size_t child = 0;
  };
  Schedule machines;
  std::size_t controls = 1;   ///< that many machines, the first ones, want to act
  std::vector<Span> outages;  ///< of the store
  std::vector<Span> flaky;    ///< the store loses requests and answers
  supervise::Rules rules;     ///< of the supervisor of whoever acts
  std::vector<Crash> crashes;
};

[[nodiscard]] ClusterSchedule make_cluster_schedule(std::uint64_t seed);
[[nodiscard]] std::string to_string(const ClusterSchedule& schedule);

}  // namespace troupe::model
