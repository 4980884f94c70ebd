// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/operating.hpp"

#include "actors/base/log.hpp"
#include "apps/troupe/host/run_directory.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace troupe {

Result<std::unique_ptr<Operations>> operate_job(Node& node, std::shared_ptr<LiveTable> table,
                                                const std::string& secret,
                                                const RunOptions& options,
                                                const std::filesystem::path& run_dir) {
  OperationsOptions operations;
  operations.table = std::move(table);
  operations.home = run_dir.parent_path().parent_path();
  operations.drain = [] { ::kill(::getpid(), SIGTERM); };
  operations.secret = secret;
  operations.reachable = !options.in_process;
  operations.http = options.http;
  return Operations::start(node, std::move(operations));
}

Result<std::unique_ptr<Operations>> operate_node(Node& node, const std::string& secret,
                                                 const NodeCommandOptions& options,
                                                 Readiness& readiness) {
  if (options.launched) return std::unique_ptr<Operations>();
  auto home = troupe_home();
  if (!home) log_warn("no logs of jobs can be shown: {}", home.error().what);
  OperationsOptions operations;
  operations.table = std::make_shared<LiveTable>();
  if (home) operations.home = std::move(*home);
  operations.drain = [&readiness] {
    readiness.drain();
    ::kill(::getpid(), SIGTERM);
  };
  operations.secret = secret;
  operations.encrypt = options.encrypt;
  operations.http = options.http;
  operations.not_ready = [&readiness] { return readiness.why_not(); };
  return Operations::start(node, std::move(operations));
}

}  // namespace troupe
