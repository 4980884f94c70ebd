// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/client.hpp"
#include "apps/troupe/cluster/complain.hpp"
#include "apps/troupe/cluster/listing.hpp"
#include "apps/troupe/commands.hpp"

#include <cstdio>

namespace troupe {

int ps_command(const PsOptions& options) {
  const auto path = full_path(options.path);
  auto client = ClusterClient::open(options.cluster);
  if (!client) return complain("ps", client.error());
  const auto picture = take_picture(**client, {path, options.ended});
  if (!picture) return complain("ps", picture.error());
  if (auto there = expect_path(**client, *picture, path); !there && !options.ended) {
    return complain("ps", there.error());
  }
  switch (options.output) {
    case Output::table:
      print(options.ended ? ended_table(*picture) : list_table(*picture));
      break;
    case Output::json:
      print(to_text(list_json(*picture, options.ended)) + "\n");
      break;
    case Output::name:
      print(list_names(*picture));
      break;
  }
  note_silent_nodes(*picture);
  return 0;
}

}  // namespace troupe
