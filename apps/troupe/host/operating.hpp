// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/operations.hpp"
#include "apps/troupe/options.hpp"

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace troupe {

/// Whether a node is where it was told to be. Written by the command's thread, read by any.
class Readiness {
 public:
  explicit Readiness(const std::optional<Address>& join) : join_(join), joined_(!join) {}

  void up(const Address& peer) {
    if (join_ == peer) joined_ = true;
  }
  void drain() { draining_ = true; }
  /// Nothing: it is ready.
  [[nodiscard]] std::optional<std::string> why_not() const {
    if (draining_) return "draining";
    if (!joined_) return "has not joined " + to_string(*join_) + " yet";
    return std::nullopt;
  }

 private:
  std::optional<Address> join_;
  std::atomic<bool> joined_;
  std::atomic<bool> draining_{false};
};

/// What others see of the host of a job, and may ask of it; draining it is what SIGTERM does.
[[nodiscard]] Result<std::unique_ptr<Operations>> operate_job(Node& node,
                                                              std::shared_ptr<LiveTable> table,
                                                              const std::string& secret,
                                                              const RunOptions& options,
                                                              const std::filesystem::path& run_dir);

/// The same of a `troupe node`; nothing of an engine process, whose host answers for it.
/// `readiness` must outlive it.
[[nodiscard]] Result<std::unique_ptr<Operations>> operate_node(Node& node,
                                                               const std::string& secret,
                                                               const NodeCommandOptions& options,
                                                               Readiness& readiness);

}  // namespace troupe
