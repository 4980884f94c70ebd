// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/listing.hpp"

#include "apps/troupe/table.hpp"

#include <fmt/format.h>

#include <map>

namespace troupe {
namespace {

std::string number(int value) { return value == 0 ? std::string() : std::to_string(value); }

/// What it waits for; else why it ended the last time.
std::string remark(const ActorLine& actor) {
  if (!actor.waits_for.empty()) return "waits for " + actor.waits_for;
  return actor.cause;
}

/// On one line of a table.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return text;
}

}  // namespace

std::string short_time(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 100 * 60) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{:.0f} h", seconds / 3600);
  return fmt::format("{:.0f} d", seconds / 86400);
}

std::string list_table(const Picture& picture) {
  std::vector<TableRow> rows;
  for (const auto& node : picture.nodes) {
    const bool known = node.pid != 0;
    rows.push_back({"/nodes/" + node.id.name, "node", node.id.name, number(node.pid), node.state,
                    known ? short_time(node.up_s) : "", "", "", one_line(node.why)});
  }
  for (const auto& actor : picture.actors) {
    rows.push_back({actor.path, actor.kind, actor.node, number(actor.pid), actor.state,
                    short_time(actor.since_s), std::to_string(actor.restarts),
                    actor.steps_per_s ? fmt::format("{:.1f}", *actor.steps_per_s) : "",
                    one_line(remark(actor))});
  }
  return format_table(
      {"PATH", "KIND", "NODE", "PROCESS", "STATE", "SINCE", "RESTARTS", "STEPS/S", "REMARK"}, rows);
}

std::string ended_table(const Picture& picture) {
  std::vector<TableRow> rows;
  for (const auto& actor : picture.actors) {
    rows.push_back({actor.path, actor.kind, actor.node, number(actor.pid), actor.state,
                    short_time(actor.since_s) + " ago", short_time(actor.lived_s),
                    one_line(actor.cause)});
  }
  return format_table({"PATH", "KIND", "NODE", "PROCESS", "STATE", "ENDED", "LIVED", "CAUSE"},
                      rows);
}

std::string list_names(const Picture& picture) {
  std::string text;
  for (const auto& actor : picture.actors) text += actor.path + "\n";
  return text;
}

Json to_json(const NodeLine& node) {
  Json::Object object = {{"name", node.id.name},
                         {"incarnation", std::to_string(node.id.incarnation)},
                         {"state", node.state}};
  if (!node.why.empty()) object.emplace_back("why", node.why);
  if (node.pid != 0) {
    object.emplace_back("pid", node.pid);
    object.emplace_back("up_s", node.up_s);
    object.emplace_back("version", node.version);
    object.emplace_back("control", to_string(node.control));
  }
  return object;
}

Json to_json(const ActorLine& actor, bool ended) {
  Json::Object object = {
      {"path", actor.path},       {"kind", actor.kind},       {"supervisor", actor.supervisor},
      {"restart", actor.restart}, {"node", actor.node},       {"pid", actor.pid},
      {"state", actor.state},     {"since_s", actor.since_s}, {"restarts", actor.restarts}};
  if (actor.steps_per_s) object.emplace_back("steps_per_s", *actor.steps_per_s);
  if (actor.step > 0) object.emplace_back("step", static_cast<std::int64_t>(actor.step));
  if (!actor.waits_for.empty()) object.emplace_back("waits_for", actor.waits_for);
  if (!actor.cause.empty()) object.emplace_back("cause", actor.cause);
  if (ended) object.emplace_back("lived_s", actor.lived_s);
  return object;
}

Json list_json(const Picture& picture, bool ended) {
  Json::Array nodes;
  for (const auto& node : picture.nodes) nodes.push_back(to_json(node));
  Json::Array actors;
  for (const auto& actor : picture.actors) actors.push_back(to_json(actor, ended));
  Json::Object all = {{"nodes", std::move(nodes)}, {ended ? "ended" : "actors", std::move(actors)}};
  if (!picture.complete) all.emplace_back("complete", false);
  return all;
}

std::string summary(const Picture& picture) {
  std::size_t silent = 0;
  for (const auto& node : picture.nodes) silent += node.state == "no answer" ? 1 : 0;
  std::map<std::string, std::size_t> states;
  double rate = 0;
  for (const auto& actor : picture.actors) {
    ++states[actor.state];
    rate += actor.steps_per_s.value_or(0);
  }
  auto text = fmt::format("{} node{}", picture.nodes.size(), picture.nodes.size() == 1 ? "" : "s");
  if (silent > 0) text += fmt::format(" ({} no answer)", silent);
  text += fmt::format(", {} actor{}", picture.actors.size(), picture.actors.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const auto& [state, count] : states) {
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), count, state);
  }
  if (rate > 0) text += fmt::format("; {:.1f} steps/s", rate);
  return text;
}

}  // namespace troupe
