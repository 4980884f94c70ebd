// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/http_server.hpp"
#include "actors/control/operate/live_table.hpp"
#include "actors/control/operate/local_socket.hpp"

#include <caf/actor.hpp>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

class Node;

struct OperationsOptions {
  std::shared_ptr<LiveTable> table;
  std::filesystem::path home;   ///< $TROUPE_HOME: where the logs of jobs are
  std::function<void()> drain;  ///< begins an orderly end of this process; returns at once
  std::string secret;           ///< the text of the cluster's secret, for commands of this user
  bool encrypt = false;
  bool reachable = true;        ///< false: no network, so nobody can join and no socket is made
  std::optional<Address> http;  ///< where /metrics, /alive and /ready are; nothing: nowhere
  /// Why the node is not ready for work; nothing: it is. Called from any thread.
  std::function<std::optional<std::string>()> not_ready;
};

/// All by which a running node is looked at and told what to do: its control actor, its Unix socket
/// and its HTTP port. Without the socket a node works as well; that is said in the log. Owned by
/// the command that runs the node, and ends before the node.
class Operations {
 public:
  /// Errors: an HTTP port that cannot be had.
  [[nodiscard]] static Result<std::unique_ptr<Operations>> start(Node& node,
                                                                 OperationsOptions options);
  ~Operations();
  Operations(const Operations&) = delete;

  /// Where HTTP is; nothing: nowhere.
  [[nodiscard]] std::optional<Address> http() const;

 private:
  Operations(Node& node, OperationsOptions options);
  [[nodiscard]] HttpAnswer answer(const std::string& path) const;

  Node& node_;
  OperationsOptions options_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  caf::actor control_;
  std::unique_ptr<LocalSocket> socket_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace troupe
