// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_load.hpp"
#include "actors/control/graph_rules.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/programs.hpp"
#include "apps/troupe/json.hpp"
#include "apps/troupe/table.hpp"
#include "messages/reflect.hpp"

#include <cstdio>
#include <string>
#include <string_view>

namespace troupe {
namespace {

void print(std::FILE* to, const std::string& text) { std::fwrite(text.data(), 1, text.size(), to); }

std::string address_of(msg::AppGraph::Reader graph, msg::Actor::Reader actor) {
  return std::string("/jobs/") + graph.getApp().getName().cStr() + "/" + actor.getPath().cStr();
}

std::string restart_of(msg::Actor::Reader actor) {
  return words_of(
      capnp::EnumSchema::from<msg::Restart>())[static_cast<unsigned>(actor.getRestart())];
}

std::string strategy_of(msg::Supervisor::Reader supervisor) {
  return words_of(
      capnp::EnumSchema::from<msg::Strategy>())[static_cast<unsigned>(supervisor.getStrategy())];
}

std::string needs_in(msg::Actor::Reader actor) {
  const auto text = to_string(needs_of(actor.getNeeds()));
  return text.empty() ? "-" : text;
}

Json backoff_of(msg::Actor::Reader actor) {
  const auto backoff = actor.getBackoff();
  return Json::Object{{"first_ms", backoff.getFirst()},
                      {"most_ms", backoff.getMost()},
                      {"calm_ms", backoff.getCalm()}};
}

std::string as_table(msg::AppGraph::Reader graph, const ActorKinds& kinds) {
  std::vector<TableRow> rows;
  for (auto actor : graph.getActor()) {
    rows.push_back({address_of(graph, actor), actor.getKind().cStr(),
                    std::to_string(actor.getCount()), restart_of(actor), program_of(actor, kinds),
                    actor.getSupervisor().cStr(), actor.getShutdown().cStr(), needs_in(actor)});
  }
  auto text = format_table(
      {"PATH", "KIND", "COUNT", "RESTART", "PROGRAM", "SUPERVISOR", "SHUTDOWN", "NEEDS"}, rows);
  rows.clear();
  for (auto supervisor : graph.getSupervisor()) {
    const auto intensity = supervisor.getIntensity();
    const bool is_root = supervisor.getPath() == ".";
    rows.push_back({supervisor.getPath().cStr(), strategy_of(supervisor),
                    std::to_string(intensity.getRestarts()) + " in " +
                        std::to_string(intensity.getPerS()) + " s",
                    is_root ? "-" : supervisor.getSupervisor().cStr()});
  }
  if (rows.empty()) return text;
  return text + "\n" + format_table({"SUPERVISOR", "STRATEGY", "RESTARTS", "UNDER"}, rows);
}

std::string as_names(msg::AppGraph::Reader graph) {
  std::string out;
  for (auto actor : graph.getActor()) out += address_of(graph, actor) + "\n";
  return out;
}

std::string as_json(const std::string& file, msg::AppGraph::Reader graph, const ActorKinds& kinds) {
  Json::Array actors;
  for (auto actor : graph.getActor()) {
    actors.push_back(Json::Object{{"path", address_of(graph, actor)},
                                  {"kind", actor.getKind().cStr()},
                                  {"count", actor.getCount()},
                                  {"restart", restart_of(actor)},
                                  {"program", program_of(actor, kinds)},
                                  {"supervisor", actor.getSupervisor().cStr()},
                                  {"shutdown", actor.getShutdown().cStr()},
                                  {"backoff", backoff_of(actor)},
                                  {"needs", to_string(needs_of(actor.getNeeds()))}});
  }
  Json::Array supervisors;
  for (auto supervisor : graph.getSupervisor()) {
    supervisors.push_back(Json::Object{{"path", supervisor.getPath().cStr()},
                                       {"strategy", strategy_of(supervisor)},
                                       {"restarts", supervisor.getIntensity().getRestarts()},
                                       {"per_s", supervisor.getIntensity().getPerS()},
                                       {"supervisor", supervisor.getSupervisor().cStr()}});
  }
  return to_text(Json::Object{{"graph", file},
                              {"ok", true},
                              {"name", graph.getApp().getName().cStr()},
                              {"actors", std::move(actors)},
                              {"supervisors", std::move(supervisors)}}) +
         "\n";
}

std::string problems_as_json(const std::string& file, std::string_view lines) {
  Json::Array problems;
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    problems.emplace_back(std::string(lines.substr(0, end)));
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  return to_text(Json::Object{{"graph", file}, {"ok", false}, {"problems", std::move(problems)}}) +
         "\n";
}

std::uint64_t total(msg::AppGraph::Reader graph) {
  std::uint64_t sum = 0;
  for (auto actor : graph.getActor()) sum += actor.getCount();
  return sum;
}

}  // namespace

int graph_check_command(const GraphCheckOptions& options, const ActorKinds& kinds) {
  const auto loaded = load_graph(options.graph, options.sets, kinds);
  if (!loaded) {
    print(stderr, loaded.error().what + "\n");
    if (options.output == Output::json) {
      print(stdout, problems_as_json(options.graph, loaded.error().what));
    }
    return 1;
  }
  const auto graph = loaded->graph();
  switch (options.output) {
    case Output::table:
      print(stdout, as_table(graph, kinds));
      break;
    case Output::json:
      print(stdout, as_json(options.graph, graph, kinds));
      break;
    case Output::name:
      print(stdout, as_names(graph));
      break;
  }
  const auto actors = total(graph);
  print(stderr, options.graph + ": no problems, " + std::to_string(actors) +
                    (actors == 1 ? " actor\n" : " actors\n"));
  return 0;
}

}  // namespace troupe
