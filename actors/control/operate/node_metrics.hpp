// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/actor_table.hpp"

#include <chrono>
#include <cstddef>
#include <string>

namespace troupe {

/// What a node tells Prometheus, beside its table.
struct NodeFacts {
  std::string name;
  std::string version;
  std::chrono::milliseconds up{0};
  bool ready = false;
};

/// The node's metrics in Prometheus' text format. At most `most_paths` actors that report steps are
/// listed one by one.
[[nodiscard]] std::string metrics_text(const ActorTable& table, const NodeFacts& facts,
                                       ActorTable::Time now, std::size_t most_paths = 1000);

/// "running", "no answer": how states are spelt everywhere.
[[nodiscard]] const char* state_word(ActorState state);

}  // namespace troupe
