// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/launcher.hpp"
#include "apps/bench/peer/line_channel.hpp"
#include "apps/bench/peer/task.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::bench {

/// Two processes of one kind that have met, waiting for orders. They end with this object.
class Counterparts {
 public:
  /// `binary --peer NAME --cores CORES`, twice.
  [[nodiscard]] static Result<std::unique_ptr<Counterparts>> start(Launcher& launcher,
                                                                   const std::string& binary,
                                                                   const std::string& name,
                                                                   const std::string& cores);

  /// The figures. After a timeout the processes are gone, and so is every later measurement.
  [[nodiscard]] Result<std::vector<double>> measure(const Task& task, std::chrono::seconds limit);

 private:
  struct End {
    LineChannel orders;
    std::unique_ptr<Process> process;
  };

  Counterparts() = default;
  [[nodiscard]] Result<std::string> order(std::optional<End>& end, const std::string& line,
                                          std::chrono::seconds limit);
  [[nodiscard]] Result<void> meet();

  std::optional<End> served_;
  std::optional<End> joined_;
  Error lost_;
};

}  // namespace troupe::bench
