// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/peer/task.hpp"
#include "messages/result.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe::bench {

/// One end of something that is measured, in a process of its own. Two of them meet in three steps,
/// each of which gives what the other end must be told: serve, join, accept. Used by one thread.
class Peer {
 public:
  virtual ~Peer() = default;

  [[nodiscard]] virtual Result<std::string> serve() = 0;
  [[nodiscard]] virtual Result<std::string> join(const std::string& served) = 0;
  [[nodiscard]] virtual Result<void> accept(const std::string& joined) = 0;
  /// Only at the end that joined. Gives the figures that the task's work has.
  [[nodiscard]] virtual Result<std::vector<double>> measure(const Task& task) = 0;
};

/// The main() of such a process: `--peer NAME --cores 0,1`, with orders on descriptor 3, one line
/// each; ends when that is closed or the process that started it is gone. `make` gets NAME.
int peer_main(int argc, char** argv,
              const std::function<Result<std::unique_ptr<Peer>>(const std::string&)>& make);

}  // namespace troupe::bench
