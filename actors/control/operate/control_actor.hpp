// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/live_table.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

namespace troupe {

class ActorKinds;
class Node;

/// The service (Node::offer) by which other nodes find a node's control actor.
constexpr const char* control_service = "control";

struct ControlOptions {
  std::shared_ptr<LiveTable> table;
  std::filesystem::path home;   ///< $TROUPE_HOME: where the logs of jobs are
  std::function<void()> drain;  ///< begins an orderly end of this node; returns at once
  /// How long another node may take to answer what is passed on to it.
  std::chrono::milliseconds relay_limit{500};
};

/// The messages of messages/control.capnp.
void register_control_messages(ActorKinds& kinds);

/// Answers for its node what is asked from outside (messages/control.capnp), passes on what is for
/// another node that it is connected to, and offers itself as control_service. Detached: it reads
/// log files. Its owner sends it an exit message.
[[nodiscard]] caf::actor spawn_control_actor(Node& node, ControlOptions options);

}  // namespace troupe
