// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace troupe {

enum class LogLevel { debug, info, warn, error };

/// Starts the log of this process: lines on stderr, "time level node text". Called once, by main();
/// without it lines of level warn and above still appear.
void start_log(const std::string& node, LogLevel lowest);

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
