// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/graph_fill.hpp"
#include "actors/core/kinds.hpp"
#include "messages/app_graph.capnp.h"

namespace troupe {

/// Finds what a schema cannot say: names and paths that are malformed, too long or taken; too many
/// actors; kinds that nobody knows or nobody hosts; supervisors that do not exist or supervise
/// themselves in a circle; and whatever the kinds' own checks find in their args. Pure. Empty: the
/// graph can be run. `places` says where each value was written.
[[nodiscard]] GraphProblems check_graph(msg::AppGraph::Reader graph, const ActorKinds& kinds,
                                        const GraphPlaces& places);

}  // namespace troupe
