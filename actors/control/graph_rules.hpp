// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/placement.hpp"
#include "actors/core/supervise/supervisor_state.hpp"
#include "messages/app_graph.capnp.h"
#include "messages/result.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

// What a graph says of how its actors are supervised and placed, as values.

/// "brutal", "infinity", or a time from 1 ms to 1 h.
[[nodiscard]] Result<Shutdown> parse_shutdown(std::string_view text);

[[nodiscard]] BackOff back_off_of(msg::Backoff::Reader from);

[[nodiscard]] Needs needs_of(msg::Needs::Reader from);

/// What is wrong with these keys of one actor: the key below the actor's, and what about it.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> check_rules(
    msg::Actor::Reader actor);

}  // namespace troupe
