// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// Something that happened in a job and that its user may want to know: one line of
/// `troupe run -o json` and of events.jsonl. Field names are the JSON keys of the contract.
struct Event {
  using Value = std::variant<std::int64_t, double, bool, std::string>;

  std::string name;  ///< "step", "epoch", "actor_down", "actor_up", "done", ...
  std::vector<std::pair<std::string, Value>> fields;
};

/// Takes events; called from any thread, returns at once.
using EventSink = std::function<void(Event)>;

}  // namespace troupe
