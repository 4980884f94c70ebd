// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/json.hpp"
#include "messages/control.capnp.h"
#include "messages/reflect.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

Result<NodeLine> find_node(ClusterClient& client, const std::string& name) {
  const auto picture = take_picture(client, {"/nodes", false});
  if (!picture) return Failure(picture.error());
  std::vector<std::string> names;
  std::vector<NodeLine> fitting;
  for (const auto& node : picture->nodes) {
    names.push_back(node.id.name);
    if (node.id.name == name || to_string(node.id) == name) fitting.push_back(node);
  }
  if (fitting.empty()) {
    return fail(ErrorCode::not_found, "no node '" + name + "'" + did_you_mean(name, names));
  }
  if (fitting.size() > 1) {
    return fail(ErrorCode::invalid_argument, "several nodes have that name; name one of " +
                                                 to_string(fitting[0].id) + ", " +
                                                 to_string(fitting[1].id));
  }
  if (fitting[0].state == "no answer") {
    return fail(ErrorCode::timeout, "node " + name + " gives no answer: " + fitting[0].why);
  }
  return fitting.front();
}

}  // namespace

int drain_command(const DrainOptions& options) {
  auto client = ClusterClient::open(options.cluster);
  if (!client) return complain("drain", client.error());
  const auto node = find_node(**client, options.target);
  if (!node) return complain("drain", node.error());
  const auto trace = new_trace();
  const auto answer = (*client)->ask<msg::ControlDone>(Msg<msg::ControlDrain>::build([&](auto b) {
    b.setNode(to_string(node->id));
    b.setTrace(trace);
    b.setBy((*client)->name());
  }));
  if (!answer) return complain("drain", answer.error());
  const std::string what = answer->read()->getWhat();
  switch (options.output) {
    case Output::table:
      print(fmt::format("{}: {} (process {})\n", node->id.name, what, node->pid));
      break;
    case Output::json:
      print(to_text(Json(Json::Object{{"node", node->id.name},
                                      {"what", what},
                                      {"pid", node->pid},
                                      {"trace", fmt::format("{:016x}", trace)}})) +
            "\n");
      break;
    case Output::name:
      print(node->id.name + "\n");
      break;
  }
  return 0;
}

}  // namespace troupe
