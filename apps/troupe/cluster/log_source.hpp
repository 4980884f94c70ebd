// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/operate/log_store.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

class ClusterClient;

/// Where logs come from: nodes of a cluster, or the files of this machine.
class LogSource {
 public:
  virtual ~LogSource() = default;

  /// What LogStore::list says, of all stores that this source reaches. Each of `actors` can be
  /// read.
  [[nodiscard]] virtual Result<LogStore::Listing> list(const std::string& target,
                                                       const std::string& run) = 0;

  struct Want {
    std::string actor;
    std::string run;
    std::uint64_t offset = 0;
    std::int64_t since_ms = 0;
  };
  /// A part of each; asked at once where that saves time.
  [[nodiscard]] virtual std::vector<Result<LogStore::Part>> read(
      const std::vector<Want>& wants) = 0;
};

/// Of a folder of this machine.
[[nodiscard]] std::unique_ptr<LogSource> make_file_source(std::filesystem::path home);
/// Of the joined node and of all that it knows. Stores that several of them have are read once.
[[nodiscard]] std::unique_ptr<LogSource> make_cluster_source(std::shared_ptr<ClusterClient> client);

}  // namespace troupe
