// SPDX-License-Identifier: Apache-2.0
#include "actors/base/log.hpp"

#include "actors/base/actor_logs.hpp"
#include "actors/base/logfmt.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      break;
  }
  return spdlog::level::err;
}

const char* name_of(LogLevel level) {
  constexpr const char* names[] = {"debug", "info", "warn", "error"};
  return names[static_cast<int>(level)];
}

/// The process's one log; started by main().
struct Log {
  Log() {
    console.set_level(spdlog::level::warn);
    console.set_pattern("%v");
    console.flush_on(spdlog::level::debug);
  }

  spdlog::logger console{"troupe", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::string node = "-";
  std::mutex mutex;  ///< guards `files`
  std::optional<ActorLogs> files;
  std::atomic<bool> keeps_files{false};
};

Log& the_log() {
  static Log instance;
  return instance;
}

thread_local std::string current_actor;
thread_local std::uint64_t current_trace = 0;

/// What to say of a file that failed; nothing else.
std::string add_to_file(Log& log, const std::string& line) {
  const std::lock_guard lock(log.mutex);
  return log.files ? log.files->add(current_actor, line) : std::string();
}

}  // namespace

void start_log(const std::string& node, LogLevel lowest) {
  the_log().node = node;
  the_log().console.set_level(to_spdlog(lowest));
}

void keep_actor_logs(std::string job, std::filesystem::path folder) {
  auto& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.files.emplace(std::move(job), std::move(folder));
  log.keeps_files = true;
}

void stop_keeping_actor_logs() {
  auto& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.keeps_files = false;
  log.files.reset();
}

LogScope::LogScope(std::string actor, std::uint64_t trace)
    : actor_before_(std::exchange(current_actor, std::move(actor))), trace_before_(current_trace) {
  if (trace != 0) current_trace = trace;
}

LogScope::~LogScope() {
  current_actor = std::move(actor_before_);
  current_trace = trace_before_;
}

void LogScope::of_thread(std::string actor) { current_actor = std::move(actor); }

std::uint64_t LogScope::trace() { return current_trace; }

bool logs(LogLevel level) {
  auto& log = the_log();
  const bool to_file = level >= LogLevel::info && log.keeps_files && !current_actor.empty();
  return to_file || log.console.should_log(to_spdlog(level));
}

void log_line(LogLevel level, std::string_view text) {
  auto& log = the_log();
  const auto line = to_logfmt({std::chrono::system_clock::now(), name_of(level), log.node,
                               current_actor, current_trace, text});
  log.console.log(to_spdlog(level), "{}", line);
  if (level < LogLevel::info || !log.keeps_files || current_actor.empty()) return;
  if (const auto complaint = add_to_file(log, line); !complaint.empty()) {
    log.console.log(spdlog::level::err, "{}",
                    to_logfmt({std::chrono::system_clock::now(), "error", log.node, current_actor,
                               current_trace, complaint}));
  }
}

}  // namespace troupe
