// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/listing.hpp"

#include <fmt/format.h>

#include <map>

namespace troupe {
namespace {

/// The actors below each supervisor; those whose supervisor is not in the picture hang off the node
/// that looks after them. Who names itself, or who is above itself, hangs off the node too.
class Tree {
 public:
  explicit Tree(const Picture& picture) {
    std::map<std::string, const ActorLine*> known;
    for (const auto& actor : picture.actors) known[key(actor, actor.path)] = &actor;
    for (const auto& actor : picture.actors) {
      children_[has_root(actor, known) ? key(actor, actor.supervisor) : actor.looked_after_by]
          .push_back(&actor);
    }
  }

  [[nodiscard]] const std::vector<const ActorLine*>& below(const NodeLine& node) const {
    return list(to_string(node.id));
  }
  [[nodiscard]] const std::vector<const ActorLine*>& below(const ActorLine& actor) const {
    return list(key(actor, actor.path));
  }

 private:
  using Known = std::map<std::string, const ActorLine*>;

  static std::string key(const ActorLine& actor, const std::string& path) {
    return actor.looked_after_by + " " + path;
  }
  /// Whether it has a supervisor here and following the supervisors comes to an end.
  static bool has_root(const ActorLine& actor, const Known& known) {
    const ActorLine* at = &actor;
    for (std::size_t steps = 0; steps <= 100; ++steps) {
      const auto it = at->supervisor.empty() ? known.end() : known.find(key(*at, at->supervisor));
      if (it == known.end()) return at != &actor;
      at = it->second;
    }
    return false;
  }
  [[nodiscard]] const std::vector<const ActorLine*>& list(const std::string& key) const {
    static const std::vector<const ActorLine*> none;
    const auto it = children_.find(key);
    return it == children_.end() ? none : it->second;
  }

  std::map<std::string, std::vector<const ActorLine*>> children_;
};

std::string describe(const NodeLine& node) {
  auto text = fmt::format("{} (node, {}", node.id.name, node.state);
  if (node.pid != 0) text += fmt::format(", process {}, {}", node.pid, short_time(node.up_s));
  return text + ")" + (node.why.empty() ? "" : ": " + node.why);
}

std::string describe(const ActorLine& actor, const std::string& above, const std::string& home) {
  const bool shortened = !above.empty() && actor.path.rfind(above + "/", 0) == 0;
  auto text =
      fmt::format("{}  {}  {}", shortened ? actor.path.substr(above.size() + 1) : actor.path,
                  actor.kind, actor.state);
  if (!actor.node.empty() && actor.node != home) {
    text += fmt::format(" on {}, process {}", actor.node, actor.pid);
  }
  if (actor.restarts > 0) {
    text += fmt::format(", {} restart{}", actor.restarts, actor.restarts == 1 ? "" : "s");
  }
  if (actor.steps_per_s) text += fmt::format(", {:.1f} steps/s", *actor.steps_per_s);
  if (!actor.waits_for.empty()) text += ", waits for " + actor.waits_for;
  return text;
}

class Drawing {
 public:
  Drawing(const Tree& tree, std::string home) : tree_(tree), home_(std::move(home)) {}

  void draw(const std::vector<const ActorLine*>& actors, const std::string& above,
            const std::string& margin, std::string& text) const {
    for (const auto* actor : actors) {
      const bool last = actor == actors.back();
      text += margin + (last ? "└─ " : "├─ ") + describe(*actor, above, home_) + "\n";
      draw(tree_.below(*actor), actor->path, margin + (last ? "   " : "│  "), text);
    }
  }

 private:
  const Tree& tree_;
  std::string home_;
};

Json branch(const Tree& tree, const ActorLine& actor) {
  auto json = to_json(actor, false);
  Json::Array children;
  for (const auto* child : tree.below(actor)) children.push_back(branch(tree, *child));
  std::get<Json::Object>(json.value).emplace_back("children", std::move(children));
  return json;
}

void add_names(const Tree& tree, const std::vector<const ActorLine*>& actors, std::string& text) {
  for (const auto* actor : actors) {
    text += actor->path + "\n";
    add_names(tree, tree.below(*actor), text);
  }
}

}  // namespace

std::string draw_tree(const Picture& picture) {
  const Tree tree(picture);
  std::string text;
  for (const auto& node : picture.nodes) {
    text += describe(node) + "\n";
    Drawing(tree, node.id.name).draw(tree.below(node), {}, {}, text);
  }
  return text;
}

Json tree_json(const Picture& picture) {
  const Tree tree(picture);
  Json::Array nodes;
  for (const auto& node : picture.nodes) {
    auto json = to_json(node);
    Json::Array children;
    for (const auto* child : tree.below(node)) children.push_back(branch(tree, *child));
    std::get<Json::Object>(json.value).emplace_back("children", std::move(children));
    nodes.push_back(std::move(json));
  }
  return Json::Object{{"nodes", std::move(nodes)}};
}

std::string tree_names(const Picture& picture) {
  const Tree tree(picture);
  std::string text;
  for (const auto& node : picture.nodes) add_names(tree, tree.below(node), text);
  return text;
}

}  // namespace troupe
