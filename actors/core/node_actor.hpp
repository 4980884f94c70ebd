// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"

#include <caf/actor.hpp>

#include <string>

namespace troupe {

class ActorKinds;
class Node;

/// The messages that every node understands.
void register_node_messages(ActorKinds& kinds);

/// Tells a node's actor who launches programs for other nodes here (supervise/host_actor.hpp).
struct HostIsHere {
  using actor_message = void;
  caf::actor host;
};

/// Tells the node's actor who provides a service (Node::offer).
struct OfferService {
  using actor_message = void;
  std::string name;
  caf::actor actor;
};

/// Answers for a node: makes actors of its kinds on request (msg::Spawn -> msg::Spawned), keeps
/// them alive, and ends them with itself; passes msg::HostQuery on to the host actor; tells who
/// provides a service (msg::FindService -> msg::FoundService).
[[nodiscard]] caf::actor spawn_node_actor(Node& node, int state_fd);

}  // namespace troupe
