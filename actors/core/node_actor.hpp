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

/// Tells the node's actor who provides a service (Node::offer).
struct OfferService {
  using actor_message = void;
  std::string name;
  caf::actor actor;
};

/// Answers for a node: makes actors of its kinds on request (msg::Spawn -> msg::Spawned), keeps
/// them alive, and ends them with itself; tells who provides a service (msg::FindService ->
/// msg::FoundService), and passes msg::HostQuery on to who provides host_service.
[[nodiscard]] caf::actor spawn_node_actor(Node& node, int state_fd);

}  // namespace troupe
