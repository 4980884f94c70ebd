// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"

#include <filesystem>
#include <list>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace troupe {

/// Adds lines to the log files of one job's actors; keeps the last few open. Others may add to the
/// same files meanwhile: every line is one write to a file opened for appending. Not for several
/// threads at once.
class ActorLogs {
 public:
  static constexpr std::size_t most_open = 64;

  ActorLogs(std::string job, std::filesystem::path folder)
      : job_(std::move(job)), folder_(std::move(folder)) {}

  /// Gives what went wrong, at the first failure with this actor's file; else nothing. A line about
  /// an actor of another job is left out.
  [[nodiscard]] std::string add(const std::string& actor, std::string_view line);

 private:
  struct Open {
    Fd fd;
    std::list<std::string>::iterator place;
  };
  [[nodiscard]] int file_of(const std::string& actor, std::string& error);

  std::string job_;
  std::filesystem::path folder_;
  std::map<std::string, Open> open_;
  std::list<std::string> order_;  ///< least recently used first
  std::set<std::string> failed_;
};

}  // namespace troupe
