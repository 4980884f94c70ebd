// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/cluster_schedule.hpp"

#include "tests/model/cluster/draw.hpp"

#include <algorithm>
#include <sstream>

namespace troupe::model {
namespace {

/// At most `most` spans, over before the schedule is.
std::vector<ClusterSchedule::Span> spans(Draw& draw, std::uint64_t most, Millis length) {
  std::vector<ClusterSchedule::Span> list(draw.of(0, most));
  const auto end = static_cast<std::uint64_t>(length.count());
  for (auto& span : list) {
    span.at = draw.ms(5000, end - 10'000);
    span.length = std::min(draw.ms(500, 20'000), length - span.at);
  }
  return list;
}

supervise::Rules draw_rules(Draw& draw, std::uint64_t seed) {
  supervise::Rules rules;
  rules.path = "/jobs/j";
  rules.strategy = static_cast<Strategy>(draw.of(0, 2));
  rules.seed = seed;
  // In one of four it may give up.
  rules.budget = RestartBudget(draw.of(0, 3) == 0 ? 3 : 1000, std::chrono::seconds(60));
  const auto count = draw.of(2, 5);
  for (std::uint64_t i = 0; i < count; ++i) {
    supervise::ChildRules child;
    child.path = "/jobs/j/c" + std::to_string(i);
    child.restart = draw.of(0, 2) == 0 ? Restart::transient : Restart::permanent;
    if (i == 0) child.shutdown = Shutdown::infinity();
    if (i > 0 && draw.of(0, 2) == 0) child.shutdown = Shutdown::brutal();
    rules.children.push_back(child);
  }
  return rules;
}

}  // namespace

ClusterSchedule make_cluster_schedule(std::uint64_t seed) {
  Draw draw(seed * 0xd1342543de82ef95ull + 7);
  ClusterSchedule schedule;
  schedule.machines = make_schedule(seed);
  // Connections lose nothing and keep the order, as the transport promises.
  schedule.machines.network = {};
  schedule.controls = draw.of(1, 3);
  auto& faults = schedule.machines.faults;
  for (std::size_t i = 0; i < faults.size(); i += 2) {  // more than chance has it befalls them
    auto& fault = faults[i];
    fault.machine %= schedule.controls;
    if (fault.other == fault.machine)
      fault.other = (fault.machine + 1) % schedule.machines.machines;
  }
  schedule.outages = spans(draw, 1, schedule.machines.length);
  schedule.flaky = spans(draw, 2, schedule.machines.length);
  schedule.rules = draw_rules(draw, seed);
  const auto end = static_cast<std::uint64_t>(schedule.machines.length.count());
  schedule.crashes.resize(draw.of(0, 6));
  for (auto& crash : schedule.crashes) {
    crash = {draw.ms(2000, end), draw.of(0, schedule.rules.children.size() - 1)};
  }
  return schedule;
}

std::string to_string(const ClusterSchedule& schedule) {
  std::ostringstream out;
  out << to_string(schedule.machines) << "\n  " << schedule.controls << " may act";
  const auto list = [&](const char* what, const std::vector<ClusterSchedule::Span>& spans) {
    for (const auto& span : spans) {
      out << "\n  " << span.at.count() << " ms store " << what << " for " << span.length.count()
          << " ms";
    }
  };
  list("out", schedule.outages);
  list("flaky", schedule.flaky);
  out << "\n  " << schedule.rules.children.size() << " children, strategy "
      << static_cast<int>(schedule.rules.strategy);
  for (const auto& crash : schedule.crashes) {
    out << "\n  " << crash.at.count() << " ms crash of child " << crash.child;
  }
  return out.str();
}

}  // namespace troupe::model
