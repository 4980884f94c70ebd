// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"
#include "apps/troupe/host/progress.hpp"
#include "apps/troupe/host/streams.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What to report of which job.
struct ReportSpec {
  std::string job;
  std::vector<std::string> groups;  ///< addresses of those that report results, the graph's order
  bool json = false;
  std::filesystem::path run_dir;
};

/// Shows a run: lines for people on stderr, JSON or a result on stdout, everything in events.jsonl;
/// the hashes of sampled states go to the file `hashes` instead
/// (gpu/easyscale/checkpoint/hash_file.hpp). A group's own `done` is told as `group_done`; the
/// run's `done` is the last line, and only finish() writes it.
class Reporter {
 public:
  Reporter(ReportSpec spec, LineFile data);

  void report(Event event);
  /// The application has ended well.
  void finish();
  /// Whether all data has arrived on stdout.
  [[nodiscard]] const Result<void>& status() const { return data_.status(); }

 private:
  void tell(const Event& event);
  void tell_results();
  void keep_hashes(const Event& event);
  void complain_once(bool written, const LineFile& file);

  ReportSpec spec_;
  LineFile data_;
  LineFile file_;
  std::optional<LineFile> hashes_;  ///< made when there are some
  Progress::Time start_ = std::chrono::steady_clock::now();
  Progress progress_;
  std::vector<Event> results_;
};

}  // namespace troupe
