// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// One line of a log, as `ts=... level=... node=... actor=... trace=... msg="..."`.
struct LogRecord {
  std::chrono::system_clock::time_point time;
  std::string_view level;
  std::string_view node;
  std::string_view actor;   ///< empty: about no actor
  std::uint64_t trace = 0;  ///< 0: part of no request
  std::string_view message;
};

/// The line, without its end. Values that are no plain words are quoted; quotes, backslashes and
/// control characters in them are escaped, so a line stays one line.
[[nodiscard]] std::string to_logfmt(const LogRecord& record);

/// The value of a key, unquoted; nothing where the line has no such key or is no logfmt.
[[nodiscard]] std::optional<std::string> logfmt_value(std::string_view line, std::string_view key);

/// "2026-05-01T12:00:00.123Z" and milliseconds since 1970, both ways.
[[nodiscard]] std::string format_time(std::chrono::system_clock::time_point time);
[[nodiscard]] std::optional<std::int64_t> parse_time_ms(std::string_view text);

/// When a line was written, in milliseconds since 1970; nothing where it does not begin with `ts=`.
[[nodiscard]] std::optional<std::int64_t> line_time_ms(std::string_view line);

/// Where the log of an actor lies below a run's logs/: "/jobs/digits/trainers/0" ->
/// "trainers/0.log"; the job itself, "/jobs/digits", -> "job.supervisor.log" (no name within a path
/// has a dot). Nothing for what is no path of a job's actor, so that no text from outside leads to
/// another file.
[[nodiscard]] std::optional<std::filesystem::path> log_file_of(std::string_view actor);
/// The name of the job that an actor's path begins with; empty where it does not.
[[nodiscard]] std::string job_of(std::string_view actor);

}  // namespace troupe
