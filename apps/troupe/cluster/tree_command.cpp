// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/cluster/listing.hpp"
#include "apps/troupe/commands.hpp"

namespace troupe {

int tree_command(const TreeOptions& options) {
  const auto path = full_path(options.path);
  auto client = ClusterClient::open(options.cluster);
  if (!client) return complain("tree", client.error());
  const auto picture = take_picture(**client, {path, false});
  if (!picture) return complain("tree", picture.error());
  if (auto there = expect_path(**client, *picture, path); !there) {
    return complain("tree", there.error());
  }
  switch (options.output) {
    case Output::table:
      print(draw_tree(*picture));
      break;
    case Output::json:
      print(to_text(tree_json(*picture)) + "\n");
      break;
    case Output::name:
      print(tree_names(*picture));
      break;
  }
  note_silent_nodes(*picture);
  return 0;
}

}  // namespace troupe
