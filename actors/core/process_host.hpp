// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/message.hpp"
#include "actors/core/supervise/placement.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "messages/node.capnp.h"

#include <capnp/any.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// One actor in a process of its own.
struct HostedActor {
  std::string node_name;  ///< of the new node; a number is added for each life
  /// The program to start, which becomes a node and joins its host: a path, or on another machine a
  /// name that is looked for there.
  std::string binary;
  Msg<msg::Spawn> spawn;      ///< what its node is asked to make
  std::filesystem::path log;  ///< its stdout and stderr; on another machine below its host's logs
  int state_fd = -1;          ///< handed down, its number in TROUPE_STATE_FD
  std::vector<std::pair<std::string, std::string>> environment;
  std::string group;  ///< the address of the group that it is a member of
  Needs needs;        ///< what its host must have, where there is a choice
  /// Of the supervisor. Above 1: it takes over from another, whose children may live on other
  /// machines; a living one is adopted, and one is launched only where there is none.
  std::uint32_t term = 1;
};

/// Starts programs as nodes of their own, waits for them to join, and has them make one actor each.
/// Lives as long as the node; its starters keep it alive.
class ProcessHost : public std::enable_shared_from_this<ProcessHost> {
 public:
  /// `secret`: the cluster secret's text, given to each program by descriptor.
  [[nodiscard]] static std::shared_ptr<ProcessHost> make(Node& node, const std::string& secret);
  virtual ~ProcessHost() = default;

  [[nodiscard]] virtual std::shared_ptr<ChildStarter> starter(HostedActor actor) = 0;
  /// Whether its programs run, and log, where this process does.
  [[nodiscard]] virtual bool on_this_machine() const { return true; }
};

/// Makes actors in this process, through their kind's own factory.
[[nodiscard]] std::shared_ptr<ChildStarter> make_local_starter(
    std::function<Result<caf::actor>()> spawn);
[[nodiscard]] std::shared_ptr<ChildStarter> make_local_starter(
    std::function<Result<caf::actor>(const Kept&)> spawn);

}  // namespace troupe
