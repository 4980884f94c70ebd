// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor.hpp>

namespace troupe {

class ActorKinds;
class Node;

/// The messages that every node understands.
void register_node_messages(ActorKinds& kinds);

/// Answers for a node: makes actors of its kinds on request (msg::Spawn -> msg::Spawned), keeps
/// them alive, and ends them with itself.
[[nodiscard]] caf::actor spawn_node_actor(Node& node, int state_fd);

}  // namespace troupe
