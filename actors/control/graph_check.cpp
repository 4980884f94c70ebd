// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_check.hpp"

#include "actors/control/graph_rules.hpp"
#include "messages/reflect.hpp"

#include <capnp/dynamic.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t max_name = 64;
constexpr std::size_t max_path = 200;
constexpr std::size_t max_problems = 20;
constexpr std::uint32_t max_count = 4096;
constexpr std::uint64_t max_actors = 10000;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= max_name &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

// Names joined by slashes.
bool is_path(std::string_view path) {
  if (path.size() > max_path) return false;
  while (true) {
    const auto slash = path.find('/');
    if (!is_name(path.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

std::string shown(std::string_view text) {
  return "'" + std::string(text.substr(0, max_name)) + (text.size() > max_name ? "..." : "") + "'";
}

std::string item(const char* list, unsigned index, const char* key = "") {
  return std::string(list) + "[" + std::to_string(index) + "]" + key;
}

// One run over one graph; each method looks at one thing and notes what it finds.
class Checker {
 public:
  Checker(msg::AppGraph::Reader graph, const ActorKinds& kinds, const GraphPlaces& places)
      : graph_(graph), kinds_(kinds), places_(places) {}

  GraphProblems run() {
    check_app();
    collect_supervisors();
    check_actors();
    check_nesting();
    check_parents();
    check_cycles();
    return std::move(problems_);
  }

 private:
  void problem(const std::string& key, std::string what) {
    if (problems_.size() < max_problems) problems_.push_back({places_.find(key), std::move(what)});
  }

  void check_app() {
    const std::string_view name = graph_.getApp().getName().cStr();
    if (name.empty()) {
      problem("app", "the application has no name; write [app] and name = \"...\"");
    } else if (!is_name(name)) {
      problem("app.name", shown(name) + " is no name: use a-z, 0-9, _ and -, at most 64 of them");
    }
    if (graph_.getActor().size() == 0) {
      problem("actor", "the graph has no actor; add an [[actor]] with a path and a kind");
    }
  }

  // Notes a path that actors or supervisors live at.
  void take_path(std::string_view path, const std::string& key, const std::string& what) {
    if (path.empty()) return problem(key, what + " has no path");
    if (path == "app" || path == "supervisor") {
      return problem(key,
                     shown(path) + " cannot be a path: --set uses the word for something else");
    }
    if (!is_path(path)) {
      return problem(key, shown(path) + " is no path: use a-z, 0-9, _ and -, with / between names");
    }
    const auto [it, fresh] = taken_.emplace(path, key);
    if (!fresh) problem(key, "path " + shown(path) + " is taken at " + places_.find(it->second));
  }

  void collect_supervisors() {
    unsigned index = 0;
    for (auto supervisor : graph_.getSupervisor()) {
      const std::string_view path = supervisor.getPath().cStr();
      const auto key = item("supervisor", index, ".path");
      if (path == ".") {
        if (!parents_.emplace(path, index).second) problem(key, "a second root supervisor");
      } else {
        take_path(path, key, "this supervisor");
        parents_.emplace(path, index);
      }
      if (supervisor.getIntensity().getPerS() == 0) {
        problem(item("supervisor", index, ".intensity.per_s"), "per_s must be at least 1");
      }
      ++index;
    }
  }

  void check_actors() {
    std::uint64_t total = 0;
    unsigned index = 0;
    for (auto actor : graph_.getActor()) {
      const auto where = item("actor", index++);
      const std::string_view path = actor.getPath().cStr();
      take_path(path, where + ".path", "this actor");
      if (actor.getCount() < 1 || actor.getCount() > max_count) {
        problem(where + ".count", "count of " + shown(path) + " must be from 1 to 4096");
      } else {
        total += actor.getCount();
      }
      if (std::string_view(actor.getBinary().cStr()).size() > max_path) {
        problem(where + ".binary", "binary of " + shown(path) + " is longer than 200 bytes");
      }
      for (const auto& [key, what] : check_rules(actor)) {
        problem(where + "." + key, what + " (of " + shown(path) + ")");
      }
      check_kind(actor, where);
    }
    if (total > max_actors) {
      problem("actor", std::to_string(total) + " actors in all, at most 10000 are allowed");
    }
  }

  void check_kind(msg::Actor::Reader actor, const std::string& where) {
    const std::string name = actor.getKind().cStr();
    const std::string of = " of " + shown(actor.getPath().cStr());
    if (name.empty())
      return problem(where + ".kind", "actor " + shown(actor.getPath().cStr()) + " has no kind");
    const auto* kind = kinds_.find(name);
    if (kind == nullptr) {
      return problem(where + ".kind",
                     "unknown kind " + shown(name) + of + did_you_mean(name, kinds_.names()));
    }
    const bool hosted_here = kind->spawn ? true : false;
    if (kind->program.empty() && !hosted_here && actor.getBinary().size() == 0) {
      problem(where + ".kind",
              "no program hosts kind " + shown(name) + of + "; name one with binary = \"...\"");
    }
    if (!kind->check) return;
    const auto args = actor.getArgs().getAs<capnp::DynamicStruct>(kind->args);
    if (const auto fine = kind->check(args); !fine) {
      problem(where + ".args" + key_named_by(fine.error().what, kind->args),
              "args" + of + ": " + fine.error().what);
    }
  }

  // A kind's check speaks of "batch must be ...": the first word tells where to look.
  static std::string key_named_by(const std::string& what, capnp::StructSchema schema) {
    const auto word = what.substr(0, what.find(' '));
    return find_field(schema, word) ? "." + word : std::string();
  }

  // Members of a group live below its path, so nobody else may.
  void check_nesting() {
    std::set<std::string_view> groups;
    for (auto actor : graph_.getActor()) groups.insert(actor.getPath().cStr());
    for (const auto& [path, key] : taken_) {
      for (auto slash = path.find('/'); slash != std::string::npos;
           slash = path.find('/', slash + 1)) {
        const auto above = std::string_view(path).substr(0, slash);
        if (groups.count(above) > 0) {
          problem(key, "path " + shown(path) + " lies below the actors of " + shown(above));
          break;
        }
      }
    }
  }

  void check_parent(std::string_view parent, std::string_view child, const std::string& key) {
    if (parent == "." || parents_.find(parent) != parents_.end()) return;
    std::vector<std::string> known = {"."};
    for (const auto& entry : parents_) {
      if (entry.first != ".") known.emplace_back(entry.first);
    }
    problem(key, "supervisor " + shown(parent) + " of " + shown(child) + " does not exist" +
                     did_you_mean(parent, known));
  }

  void check_parents() {
    unsigned index = 0;
    for (auto actor : graph_.getActor()) {
      check_parent(actor.getSupervisor().cStr(), actor.getPath().cStr(),
                   item("actor", index++, ".supervisor"));
    }
    index = 0;
    for (auto supervisor : graph_.getSupervisor()) {
      const std::string_view path = supervisor.getPath().cStr();
      const auto key = item("supervisor", index++, ".supervisor");
      if (path != ".") check_parent(supervisor.getSupervisor().cStr(), path, key);
    }
  }

  // Walks from each supervisor towards the root; whoever meets a path again has found a circle.
  void check_cycles() {
    std::set<std::string_view> cleared = {"."};
    for (const auto& [start, unused] : parents_) {
      std::vector<std::string_view> walk;
      auto at = start;
      while (cleared.insert(at).second) {
        walk.push_back(at);
        const auto it = parents_.find(at);
        if (it == parents_.end()) break;
        at = graph_.getSupervisor()[it->second].getSupervisor().cStr();
      }
      const auto again = std::find(walk.begin(), walk.end(), at);
      if (again != walk.end() && parents_.find(at) != parents_.end()) {
        report_cycle({again, walk.end()});
      }
    }
  }

  void report_cycle(const std::vector<std::string_view>& cycle) {
    constexpr std::size_t listed = 8;
    std::string names;
    for (std::size_t i = 0; i < std::min(cycle.size(), listed); ++i)
      names += std::string(cycle[i]) + " -> ";
    if (cycle.size() > listed) names += "... -> ";
    problem(item("supervisor", parents_.find(cycle.front())->second, ".supervisor"),
            "supervisors in a circle: " + names + std::string(cycle.front()));
  }

  msg::AppGraph::Reader graph_;
  const ActorKinds& kinds_;
  const GraphPlaces& places_;
  GraphProblems problems_;
  std::map<std::string, std::string, std::less<>> taken_;      // path -> key of its place
  std::map<std::string_view, unsigned, std::less<>> parents_;  // supervisor's path -> its index
};

}  // namespace

GraphProblems check_graph(msg::AppGraph::Reader graph, const ActorKinds& kinds,
                          const GraphPlaces& places) {
  return Checker(graph, kinds, places).run();
}

}  // namespace troupe
