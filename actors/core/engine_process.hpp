// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/launcher.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A program that is started as a node, joins the one that starts it, and ends with it.
struct EngineProcess {
  std::string binary;
  std::string node_name;
  Address host;  ///< the control port of the node to join; it listens on the same address
  std::string secret;
  bool encrypt = false;
  std::vector<std::pair<std::string, std::string>> environment;
  int state_fd = -1;  ///< handed down, its number in TROUPE_STATE_FD
  std::filesystem::path log;
};

/// The secret goes by descriptor: never in arguments or environment.
[[nodiscard]] Result<std::unique_ptr<Process>> start_engine(
    Launcher& launcher, const EngineProcess& engine,
    std::function<void(const std::string& how)> on_end);

/// What to tell of a process that failed before it was ready: `why`, the last line of its log where
/// it ended by itself, and where that log is.
[[nodiscard]] Error with_log(Error why, const std::filesystem::path& log, bool by_itself);

}  // namespace troupe
