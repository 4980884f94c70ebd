// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/log_merge.hpp"

#include "actors/base/logfmt.hpp"

#include <algorithm>

namespace troupe {

void LogMerge::add(std::size_t log, std::string_view text) {
  auto& it = logs_[log];
  it.text.erase(0, it.begin);
  it.begin = 0;
  it.text += text;
  it.paused = false;
}

void LogMerge::finish(std::size_t log) {
  auto& it = logs_[log];
  if (it.begin < it.text.size() && it.text.back() != '\n') it.text += '\n';
  it.paused = true;
}

bool LogMerge::wants() const {
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    if (wants(i)) return true;
  }
  return false;
}

std::int64_t LogMerge::time_of_next(const Log& log) {
  const auto end = log.text.find('\n', log.begin);
  const auto time = line_time_ms(std::string_view(log.text).substr(log.begin, end - log.begin));
  return std::max(time.value_or(log.time), log.time);
}

std::optional<LogMerge::Line> LogMerge::next() {
  if (wants()) return std::nullopt;
  std::optional<std::size_t> best;
  std::int64_t best_time = 0;
  for (std::size_t i = 0; i < logs_.size(); ++i) {
    if (!logs_[i].has_line()) continue;
    const auto time = time_of_next(logs_[i]);
    if (best && time >= best_time) continue;
    best = i;
    best_time = time;
  }
  if (!best) return std::nullopt;
  auto& log = logs_[*best];
  const auto end = log.text.find('\n', log.begin);
  Line line{*best, log.text.substr(log.begin, end - log.begin)};
  log.begin = end + 1;
  log.time = best_time;
  return line;
}

}  // namespace troupe
