// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// The logs of the jobs that ran from one $TROUPE_HOME: <home>/<job>/<run>/logs/<actor path>.log.
/// Reads files, so not for actors that may not block. Whatever a path says, nothing outside of the
/// runs' log folders is read.
class LogStore {
 public:
  static constexpr std::size_t most_bytes = 256 << 10;  ///< of one part

  explicit LogStore(std::filesystem::path home) : home_(std::move(home)) {}

  /// Which folder of which machine: nodes with the same home have the same logs.
  [[nodiscard]] std::string id() const;

  struct Listing {
    std::string job;
    std::string run;                  ///< empty: there is no run of it here
    std::vector<std::string> actors;  ///< in the order of their paths
    std::string next;                 ///< `after` of the next page; empty: that was all
    std::vector<std::string> jobs;  ///< where there is no run: the jobs that there are, at most 100
  };
  /// The logs of an actor and those below it ("/jobs/digits/trainers"), or of a job ("digits"), of
  /// one run or, with an empty `run`, of the last one. Errors: what is no path and no job's name.
  [[nodiscard]] Result<Listing> list(const std::string& target, const std::string& run,
                                     const std::string& after, std::size_t limit) const;

  struct Part {
    std::string text;
    std::uint64_t next = 0;
    std::uint64_t size = 0;  ///< of the file
  };
  /// At most `limit` bytes from `offset` on; with offset 0 and `since_ms` from the first line on
  /// that is not older.
  [[nodiscard]] Result<Part> read(const std::string& actor, const std::string& run,
                                  std::uint64_t offset, std::size_t limit,
                                  std::int64_t since_ms) const;

  /// The folder of a run; for messages to people.
  [[nodiscard]] std::filesystem::path folder(const std::string& job, const std::string& run) const {
    return home_ / job / run / "logs";
  }

 private:
  [[nodiscard]] std::string last_run(const std::string& job) const;
  [[nodiscard]] std::vector<std::string> jobs() const;

  std::filesystem::path home_;
};

}  // namespace troupe
