// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_observer.hpp"
#include "actors/core/event.hpp"
#include "actors/core/process_host.hpp"
#include "messages/app_graph.capnp.h"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

struct ApplicationOptions {
  std::filesystem::path run_dir;    ///< logs/ goes in here
  std::vector<std::string> faults;  ///< what `run --kill-one-at` asked for
  /// Grows with each node that takes the application over. Above 1: members that a cluster's hosts
  /// keep for their former supervisor are adopted as they are, instead of being started afresh.
  std::uint32_t term = 1;
  std::filesystem::path resume;  ///< checkpoints that `run --resume` goes on from; or empty
  EventSink emit;
  std::shared_ptr<ActorObserver> observer;  ///< may be empty
  /// Starts processes; empty: every actor lives in this process.
  std::shared_ptr<ProcessHost> host;
  /// The path of a program that a graph or a kind names.
  std::function<Result<std::string>(const std::string& program)> find_program;
  /// Called once, from any thread: how the application ended.
  std::function<void(Result<void>)> ended;
};

/// The name of the node that hosts member `index` of the group at `path` of job `job`: short enough
/// for the number of its life to be added, and of no other member of the job.
[[nodiscard]] std::string member_node_name(const std::string& job, const std::string& path,
                                           std::uint32_t index);

/// Brings a checked graph to life: the groups' leaders, then the supervisor tree with all members.
/// The application ends well when its leaders have, or, where there is none, when no child is left
/// that should live; then everything is stopped in reverse order. To stop it earlier send the
/// returned actor an exit message, or EndChild for the job's own path or a leader's. Errors before
/// anything was started: a program that is not there, a kind that cannot be led here.
[[nodiscard]] Result<caf::actor> start_application(Node& node, msg::AppGraph::Reader graph,
                                                   ApplicationOptions options);

}  // namespace troupe
