// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/host_table.hpp"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace troupe {

class Node;

struct HostOptions {
  HostTable::Settings table;
  std::string secret;  ///< the cluster secret's text, given to each program by descriptor
  bool encrypt = false;
  std::filesystem::path logs;  ///< the logs of what is launched go below this folder
  /// The path of a program that another node names.
  std::function<Result<std::string>(const std::string& name)> find_program;
};

/// Launches engine processes for the supervisors of other nodes: takes msg::Launch, EndLife,
/// ListLaunched and Adopt (supervise.capnp), and tells whoever launched or adopted a life, by
/// msg::LifeEnded, how its process ended. What it has launched joins this node and ends with it,
/// but outlives who asked for it: an orphan is kept for `orphan_time` so that a successor can adopt
/// it. On an exit message it ends everything in order. Also answers msg::HostQuery.
[[nodiscard]] caf::actor spawn_host_actor(Node& node, HostOptions options);

}  // namespace troupe
