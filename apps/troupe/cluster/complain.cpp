// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/complain.hpp"

#include "actors/control/operate/actor_table.hpp"
#include "actors/net/crypto.hpp"
#include "messages/reflect.hpp"

#include <cerrno>
#include <cstdio>

namespace troupe {

int complain(const char* command, const Error& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s %s: %s\n", program_invocation_short_name, command, error.what.c_str());
  return 1;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string full_path(const std::string& path) {
  return path.empty() || path.front() == '/' ? path : "/jobs/" + path;
}

std::uint64_t new_trace() { return random_number(); }

Result<void> expect_path(ClusterClient& client, const Picture& picture, const std::string& path) {
  if (path.empty() || is_below(path, nodes_path) || !picture.actors.empty()) return {};
  const auto all = take_picture(client, {});
  if (!all) return Failure(all.error());
  std::vector<std::string> paths;
  for (const auto& actor : all->actors) paths.push_back(actor.path);
  if (paths.empty()) {
    return fail(ErrorCode::not_found, "no actor " + path + "; no actor runs here at all");
  }
  return fail(ErrorCode::not_found, "no actor " + path + did_you_mean(path, paths));
}

void note_silent_nodes(const Picture& picture) {
  for (const auto& node : picture.nodes) {
    if (node.state != "no answer") continue;
    std::fprintf(stderr, "node %s gives no answer (%s): what it looks after is not listed\n",
                 node.id.name.c_str(), node.why.c_str());
  }
  if (!picture.complete) std::fprintf(stderr, "there are more than %zu actors\n", most_actors);
}

}  // namespace troupe
