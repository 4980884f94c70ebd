// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk.hpp"
#include "apps/bench/peer/task.hpp"

#include <string>
#include <vector>

namespace troupe::bench {

/// The memory that the serving end of a bulk measurement exposes, and how the joining end pulls it.
/// 64 MiB in a memory file, which can be mapped, and 64 MiB of ordinary memory.
class BulkSource {
 public:
  /// On the serving end. Gives what import() needs, without spaces at either end.
  [[nodiscard]] static Result<std::string> expose(BulkStore& store);
  /// On the joining end; `node` and `control` are the serving node's.
  [[nodiscard]] static Result<BulkSource> import(const std::string& exposed, const NodeId& node,
                                                 const Address& control);

  /// Pulls the task's bytes as often as it says, over the path of its work and no other; the
  /// seconds that it took.
  [[nodiscard]] Result<double> pull(BulkReader& reader, const Task& task);

 private:
  BulkRef file_;
  BulkRef memory_;
  std::vector<std::byte> to_;
};

}  // namespace troupe::bench
