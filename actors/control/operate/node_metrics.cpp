// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/node_metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

namespace troupe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

class Families {
 public:
  MetricFamily& add(const char* name, const char* help, MetricType type) {
    MetricFamily family;
    family.name = name;
    family.help = help;
    family.type = type;
    all.push_back(std::move(family));
    return all.back();
  }
  std::vector<MetricFamily> all;
};

void put(MetricFamily& family, double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void add_actors(Families& families, const ActorTable& table) {
  const auto totals = table.totals();
  auto& actors = families.add("troupe_actors", "Actors that this node looks after, by state.",
                              MetricType::Gauge);
  for (const auto state :
       {ActorState::STARTING, ActorState::RUNNING, ActorState::WAITING, ActorState::RESTARTING}) {
    const auto it = totals.by_state.find(state);
    put(actors, it == totals.by_state.end() ? 0 : static_cast<double>(it->second),
        {{"state", state_word(state)}});
  }
  put(families.add("troupe_actor_restarts_total", "Restarts of actors since the node started.",
                   MetricType::Counter),
      static_cast<double>(totals.restarts));
  put(families.add("troupe_actor_failures_total",
                   "Lives of actors that did not end normally, since the node started.",
                   MetricType::Counter),
      static_cast<double>(totals.failures));
}

void add_steps(Families& families, const ActorTable& table, ActorTable::Time now,
               std::size_t most_paths) {
  auto& rates = families.add("troupe_steps_per_second",
                             "Steps a second over the last 10 s, of actors that report steps.",
                             MetricType::Gauge);
  std::string after;
  do {
    const auto page = table.list("", after, 500);
    for (const auto* entry : page.entries) {
      const auto rate = entry->rate.per_second(now);
      if (!rate || rates.metric.size() >= most_paths) continue;
      put(rates, *rate, {{"path", entry->seat.path}});
    }
    after = page.next;
  } while (!after.empty());
  if (rates.metric.empty()) families.all.pop_back();
}

}  // namespace

const char* state_word(ActorState state) {
  constexpr const char* words[] = {"starting",   "running", "waiting",
                                   "restarting", "ended",   "failed"};
  const auto index = static_cast<std::size_t>(state);
  return index < std::size(words) ? words[index] : "unknown";
}

std::string metrics_text(const ActorTable& table, const NodeFacts& facts, ActorTable::Time now,
                         std::size_t most_paths) {
  Families families;
  put(families.add("troupe_node_info", "1, with the node's name and version.", MetricType::Gauge),
      1, {{"node", facts.name}, {"version", facts.version}});
  put(families.add("troupe_node_up_seconds", "Seconds since the node started.", MetricType::Gauge),
      std::chrono::duration<double>(facts.up).count());
  put(families.add("troupe_node_ready", "1 where the node is ready for work.", MetricType::Gauge),
      facts.ready ? 1 : 0);
  put(families.add("troupe_other_nodes", "Connected nodes that look after actors too.",
                   MetricType::Gauge),
      static_cast<double>(table.totals().nodes));
  add_actors(families, table);
  add_steps(families, table, now, most_paths);
  return prometheus::TextSerializer().Serialize(families.all);
}

}  // namespace troupe
