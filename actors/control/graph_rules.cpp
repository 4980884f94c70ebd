// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_rules.hpp"

#include "actors/core/supervise/placement.hpp"
#include "messages/reflect.hpp"

namespace troupe {
namespace {

constexpr std::uint32_t hour_ms = 3600 * 1000;
constexpr std::uint32_t day_ms = 24 * hour_ms;
constexpr std::uint32_t max_cpus = 4096;
constexpr std::uint32_t max_gpus = 64;
constexpr std::uint64_t max_memory = std::uint64_t{64} << 40;
constexpr unsigned max_labels = 16;

using Problems = std::vector<std::pair<std::string, std::string>>;

void check_backoff(msg::Backoff::Reader backoff, Problems& problems) {
  if (backoff.getMost() > hour_ms) problems.emplace_back("backoff.most", "most must be at most 1h");
  if (backoff.getFirst() > backoff.getMost()) {
    problems.emplace_back("backoff.first", "first must not be longer than most (" +
                                               std::to_string(backoff.getMost()) + " ms)");
  }
  if (backoff.getCalm() > day_ms) problems.emplace_back("backoff.calm", "calm must be at most 24h");
}

void check_needs(msg::Needs::Reader needs, Problems& problems) {
  if (needs.getCpus() > max_cpus) {
    problems.emplace_back("needs.cpus", "cpus must be at most " + std::to_string(max_cpus));
  }
  if (needs.getGpu() > max_gpus) {
    problems.emplace_back("needs.gpu", "gpu must be at most " + std::to_string(max_gpus));
  }
  if (needs.getMemory() > max_memory) {
    problems.emplace_back("needs.memory", "memory must be at most 64TiB");
  }
  if (needs.getLabels().size() > max_labels) {
    problems.emplace_back("needs.labels", std::to_string(needs.getLabels().size()) +
                                              " labels, at most 16 are allowed");
  }
  unsigned index = 0;
  for (const std::string label : needs.getLabels()) {
    if (!is_label(label)) {
      problems.emplace_back("needs.labels[" + std::to_string(index) + "]",
                            "'" + label.substr(0, longest_label) + "' is no label: " + label_rule);
    }
    ++index;
  }
}

}  // namespace

Result<Shutdown> parse_shutdown(std::string_view text) {
  if (text == "brutal") return Shutdown::brutal();
  if (text == "infinity") return Shutdown::infinity();
  const auto limit = parse_duration(text);
  if (!limit || *limit < Millis(1) || *limit > Millis(hour_ms)) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(text.substr(0, longest_label)) +
                    "' is no way to stop: write \"brutal\", \"infinity\", or a time from 1ms to "
                    "1h such as \"5s\"");
  }
  return Shutdown{*limit};
}

BackOff back_off_of(msg::Backoff::Reader from) {
  return {Millis(from.getFirst()), Millis(from.getMost()), Millis(from.getCalm())};
}

Needs needs_of(msg::Needs::Reader from) {
  Needs needs{{from.getCpus(), {from.getMemory()}, from.getGpu()}, {}};
  for (const auto label : from.getLabels()) needs.labels.emplace_back(label);
  return needs;
}

Problems check_rules(msg::Actor::Reader actor) {
  Problems problems;
  if (const auto shutdown = parse_shutdown(actor.getShutdown().cStr()); !shutdown) {
    problems.emplace_back("shutdown", shutdown.error().what);
  }
  check_backoff(actor.getBackoff(), problems);
  check_needs(actor.getNeeds(), problems);
  return problems;
}

}  // namespace troupe
