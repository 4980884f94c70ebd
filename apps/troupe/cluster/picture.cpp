// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/picture.hpp"

#include "actors/control/operate/actor_table.hpp"
#include "actors/control/operate/node_metrics.hpp"
#include "apps/troupe/cluster/client.hpp"
#include "messages/control.capnp.h"
#include "messages/wire_ids.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace troupe {
namespace {

using Page = Msg<msg::ControlPage>;

Msg<msg::ControlList> question(const Look& look, const std::string& node,
                               const std::string& after) {
  return Msg<msg::ControlList>::build([&](msg::ControlList::Builder b) {
    b.setNode(node);
    b.setPrefix(look.prefix);
    b.setAfter(after);
    b.setEnded(look.ended);
  });
}

double seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1000; }

NodeLine read_self(msg::ControlPage::Reader from) {
  return {read_node(from.getNode()),
          from.getDraining() ? "draining" : "up",
          {},
          static_cast<int>(from.getPid()),
          seconds(from.getUpMs()),
          from.getVersion(),
          read_address(from.getControl())};
}

ActorLine read_actor(msg::ActorRow::Reader from, const std::string& node) {
  ActorLine line;
  line.path = from.getPath();
  line.kind = from.getKind();
  line.supervisor = from.getSupervisor();
  line.restart = from.getRestart();
  line.node = from.getNode();
  line.looked_after_by = node;
  line.pid = static_cast<int>(from.getPid());
  line.state = state_word(from.getState());
  line.since_s = seconds(from.getSinceMs());
  line.restarts = from.getRestarts();
  if (from.getStepsPerS() >= 0) line.steps_per_s = from.getStepsPerS();
  line.step = from.getStep();
  line.waits_for = from.getWaitsFor();
  line.cause = from.getCause();
  line.lived_s = seconds(from.getLivedMs());
  return line;
}

class Painter {
 public:
  Painter(ClusterClient& client, const Look& look) : client_(client), look_(look) {}

  Result<Picture> paint() {
    auto first = client_.ask<msg::ControlPage>(question(look_, {}, {}));
    if (!first) return fail_at(client_.entry().id.name, first.error());
    std::vector<NodeId> peers;
    {
      auto view = first->read();
      for (const auto peer : view->getPeers()) peers.push_back(read_node(peer));
    }
    take(to_string(client_.entry().id), *first);
    ask_peers(peers);
    while (!more_.empty() && picture_.actors.size() < most_actors) ask_more();
    picture_.complete = more_.empty();
    if (!look_.ended) sort();
    return std::move(picture_);
  }

 private:
  using Wanted = std::pair<std::string, std::string>;  ///< node, after

  void take(const std::string& node, const Page& page) {
    auto view = page.read();
    if (seen_.insert(node).second) picture_.nodes.push_back(read_self(*view));
    for (const auto row : view->getActors()) {
      // Nodes speak for themselves; how one ended, others know.
      if (!look_.ended && is_below(row.getPath().cStr(), nodes_path)) continue;
      picture_.actors.push_back(read_actor(row, node));
    }
    if (view->getNext().size() > 0) more_.emplace_back(node, view->getNext());
  }

  void ask_peers(const std::vector<NodeId>& peers) {
    std::vector<Msg<msg::ControlList>> questions;
    for (const auto& peer : peers) questions.push_back(question(look_, to_string(peer), {}));
    const auto answers = client_.ask_all<msg::ControlPage>(std::move(questions));
    for (std::size_t i = 0; i < peers.size(); ++i) {
      if (answers[i]) {
        take(to_string(peers[i]), *answers[i]);
      } else {
        picture_.nodes.push_back({peers[i], "no answer", answers[i].error().what, 0, 0, {}, {}});
      }
    }
  }

  void ask_more() {
    const auto wanted = std::exchange(more_, {});
    std::vector<Msg<msg::ControlList>> questions;
    for (const auto& [node, after] : wanted) questions.push_back(question(look_, node, after));
    const auto answers = client_.ask_all<msg::ControlPage>(std::move(questions));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto& node = wanted[i].first;
      if (answers[i]) {
        take(node, *answers[i]);
        continue;
      }
      for (auto& line : picture_.nodes) {
        if (to_string(line.id) != node) continue;
        line.state = "no answer";
        line.why = answers[i].error().what;
      }
    }
  }

  void sort() {
    std::stable_sort(picture_.actors.begin(), picture_.actors.end(),
                     [](const auto& a, const auto& b) { return a.path < b.path; });
  }

  ClusterClient& client_;
  const Look& look_;
  Picture picture_;
  std::set<std::string> seen_;
  std::vector<Wanted> more_;
};

}  // namespace

Result<Picture> take_picture(ClusterClient& client, const Look& look) {
  return Painter(client, look).paint();
}

}  // namespace troupe
