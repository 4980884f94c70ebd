// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "messages/app_graph.capnp.h"

#include <string>

namespace troupe {

/// Writes a graph as TOML with every value spelt out, those that its user left to their defaults
/// too; reading it gives the same graph again. Actors of a kind that is not in `kinds` keep no
/// args.
[[nodiscard]] std::string graph_text(msg::AppGraph::Reader graph, const ActorKinds& kinds);

}  // namespace troupe
