// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/json.hpp"
#include "messages/control.capnp.h"

#include <fmt/format.h>

#include <algorithm>

namespace troupe {
namespace {

/// The node that looks after it, and what is to be said of it.
Result<ActorLine> find_actor(ClusterClient& client, const std::string& path) {
  const auto picture = take_picture(client, {path, false});
  if (!picture) return Failure(picture.error());
  const auto it = std::find_if(picture->actors.begin(), picture->actors.end(),
                               [&](const auto& actor) { return actor.path == path; });
  if (it != picture->actors.end()) return *it;
  note_silent_nodes(*picture);
  if (!picture->actors.empty()) {
    return fail(ErrorCode::not_found,
                path + " is a group; name one of its members, such as " + picture->actors[0].path);
  }
  return Failure(expect_path(client, *picture, path).error());
}

}  // namespace

int kill_command(const KillOptions& options) {
  const auto path = full_path(options.path);
  auto client = ClusterClient::open(options.cluster);
  if (!client) return complain("kill", client.error());
  const auto actor = find_actor(**client, path);
  if (!actor) return complain("kill", actor.error());
  const auto trace = new_trace();
  const auto answer = (*client)->ask<msg::ControlDone>(Msg<msg::ControlKill>::build([&](auto b) {
    b.setNode(actor->looked_after_by);
    b.setPath(path);
    b.setStop(options.stop);
    b.setTrace(trace);
    b.setBy((*client)->name());
  }));
  if (!answer) return complain("kill", answer.error());
  const std::string what = answer->read()->getWhat();
  const bool back =
      actor->restart == "permanent" || (actor->restart == "transient" && !options.stop);
  switch (options.output) {
    case Output::table:
      print(fmt::format("{}: {} (process {} on {}){}\n", path, what, actor->pid, actor->node,
                        back ? "; its supervisor starts it again" : ""));
      break;
    case Output::json:
      print(to_text(Json(Json::Object{{"path", path},
                                      {"what", what},
                                      {"node", actor->node},
                                      {"pid", actor->pid},
                                      {"comes_back", back},
                                      {"trace", fmt::format("{:016x}", trace)}})) +
            "\n");
      break;
    case Output::name:
      print(path + "\n");
      break;
  }
  return 0;
}

}  // namespace troupe
