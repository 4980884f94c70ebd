// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Puts the lines of several logs into the order of time. A log's own order stays as it is: a line
/// without a time, or with one before the line above it, counts as written with that one. Values
/// only: who uses it fills logs that are empty() and takes lines.
class LogMerge {
 public:
  /// One more log; gives its number: 0, 1, ...
  std::size_t add_log() {
    logs_.emplace_back();
    return logs_.size() - 1;
  }

  /// More of a log, as it was read; lines may be cut anywhere.
  void add(std::size_t log, std::string_view text);
  /// There is no more of it now; what it still holds without a line's end stays with it.
  void pause(std::size_t log) { logs_[log].paused = true; }
  /// There will be no more: what has no line's end counts as a line.
  void finish(std::size_t log);

  /// Whether more of a log is needed before the next line can be told.
  [[nodiscard]] bool wants(std::size_t log) const {
    return !logs_[log].paused && !logs_[log].has_line();
  }
  [[nodiscard]] bool wants() const;
  /// The next line, without its end; nothing while a log is wanted or all are empty.
  struct Line {
    std::size_t log = 0;
    std::string text;
  };
  [[nodiscard]] std::optional<Line> next();

 private:
  struct Log {
    std::string text;
    std::size_t begin = 0;
    bool paused = false;
    std::int64_t time = 0;  ///< of its last line
    [[nodiscard]] bool has_line() const { return text.find('\n', begin) != std::string::npos; }
  };
  [[nodiscard]] static std::int64_t time_of_next(const Log& log);

  std::vector<Log> logs_;
};

}  // namespace troupe
