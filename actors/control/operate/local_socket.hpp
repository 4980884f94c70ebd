// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace troupe {

/// What it takes to join a node of this machine, and what it is.
struct LocalNode {
  std::string name;
  Address control;
  std::string secret;  ///< the text of the cluster's secret
  bool encrypt = false;
  int pid = 0;
  std::string version;
};

/// $XDG_RUNTIME_DIR/troupe, else /run/user/UID/troupe where that is there, else troupe-UID below
/// $TMPDIR or /tmp.
[[nodiscard]] std::filesystem::path socket_folder();

/// A Unix socket by which commands of the same user find a node of this machine: whoever connects
/// and has our user id (SO_PEERCRED) gets the LocalNode, everybody else nothing. The socket has
/// mode 0600 and lies, as PID.sock, in a folder of mode 0700. A thread of its own answers; the
/// socket goes with this.
class LocalSocket {
 public:
  /// Makes the folder where it is not there. Errors: a folder that is somebody else's or open to
  /// others, one that cannot be made.
  [[nodiscard]] static Result<std::unique_ptr<LocalSocket>> open(
      const std::filesystem::path& folder, const LocalNode& node);
  ~LocalSocket();
  LocalSocket(const LocalSocket&) = delete;

 private:
  LocalSocket(Fd folder, std::string name, Fd fd, std::string answer);
  void serve();
  void answer(int fd) const;

  Fd folder_;
  std::string name_;
  Fd fd_;
  std::string answer_;
  WakeUp wake_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

/// The nodes of this user on this machine, in the order of their names.
struct LocalNodes {
  std::vector<LocalNode> nodes;
  std::vector<int> silent;  ///< processes whose socket takes connections and says nothing
};

/// Asks every socket in the folder; removes those that nobody listens on any more. No folder: no
/// node. Errors: a folder that is somebody else's, is open to others, or cannot be read.
[[nodiscard]] Result<LocalNodes> find_local_nodes(const std::filesystem::path& folder);

}  // namespace troupe
