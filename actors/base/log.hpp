// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace troupe {

enum class LogLevel { debug, info, warn, error };

/// Starts the log of this process: lines on stderr, in logfmt (logfmt.hpp). Called once, by main();
/// without it lines of level warn and above still appear.
void start_log(const std::string& node, LogLevel lowest);

/// From now on lines of level info and above about an actor of this job (LogScope) are also added
/// to the actor's own file below `folder`: see log_file_of(). A file that cannot be written is said
/// once and left out.
void keep_actor_logs(std::string job, std::filesystem::path folder);
void stop_keeping_actor_logs();

/// What the lines of this thread are about, until the scope ends; scopes nest.
class LogScope {
 public:
  /// `trace`: the request that this is done for; 0 keeps that of the scope around this one.
  explicit LogScope(std::string actor, std::uint64_t trace = 0);
  ~LogScope();
  LogScope(const LogScope&) = delete;

  /// For a thread that belongs to one actor: all its lines are about that one.
  static void of_thread(std::string actor);
  /// The request that this thread is working for; 0: none.
  [[nodiscard]] static std::uint64_t trace();

 private:
  std::string actor_before_;
  std::uint64_t trace_before_;
};

[[nodiscard]] bool logs(LogLevel level);
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log(LogLevel level, fmt::format_string<Args...> text, Args&&... args) {
  if (logs(level)) log_line(level, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> text, Args&&... args) {
  log(LogLevel::debug, text, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> text, Args&&... args) {
  log(LogLevel::info, text, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> text, Args&&... args) {
  log(LogLevel::warn, text, std::forward<Args>(args)...);
}
template <class... Args>
void log_error(fmt::format_string<Args...> text, Args&&... args) {
  log(LogLevel::error, text, std::forward<Args>(args)...);
}

}  // namespace troupe
