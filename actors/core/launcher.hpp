// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "messages/result.hpp"
#include "messages/units.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe {

/// What to start. The descriptors are inherited as 3, 4, ...; everything else is closed.
struct ProcessSpec {
  std::string binary;  ///< a path
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  ///< beside this process's own
  std::vector<int> descriptors;
  std::filesystem::path log;  ///< its stdout and stderr
};

/// A started process. Destroying the handle kills it (SIGKILL) and waits until it is gone.
class Process {
 public:
  ~Process();
  Process(const Process&) = delete;

  [[nodiscard]] int pid() const;
  void terminate() const;  ///< SIGTERM
  /// "exit status 1", "killed by signal 9 (Killed)"; nothing if it still runs when the time is
  /// over.
  [[nodiscard]] std::string wait_for_end(Millis limit) const;

 private:
  friend class Launcher;
  struct State;
  explicit Process(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// Starts processes and notices their end at once (pidfd). Each runs in a process group of its own,
/// so that a Ctrl-C in the terminal reaches only us. One thread reaps. Outlives its processes'
/// handles.
class Launcher {
 public:
  Launcher();
  ~Launcher();
  Launcher(const Launcher&) = delete;

  /// `on_end` is called from the reaper's thread with how it ended.
  [[nodiscard]] Result<std::unique_ptr<Process>> start(
      const ProcessSpec& spec, std::function<void(const std::string& how)> on_end);

 private:
  void reap();
  void bury(int pidfd);

  std::mutex mutex_;
  std::map<int, std::shared_ptr<Process::State>> alive_;  ///< by pidfd
  std::atomic<bool> stopping_{false};
  Fd epoll_;
  WakeUp wake_;
  std::thread reaper_;
};

/// Whether a process that ended like that was not killed from outside.
[[nodiscard]] bool ended_by_itself(const std::string& how);

/// What the last line of a log says that is neither empty nor of level info, for an error's first
/// cause; empty when there is none within the last 4 KiB.
[[nodiscard]] std::string last_complaint(const std::filesystem::path& log);

}  // namespace troupe
