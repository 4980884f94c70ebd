// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/cluster/picture.hpp"
#include "apps/troupe/json.hpp"

#include <string>

namespace troupe {

/// "12 s", "3 min", "2 h", "5 d".
[[nodiscard]] std::string short_time(double seconds);

/// The picture as a table: the nodes, then the actors.
[[nodiscard]] std::string list_table(const Picture& picture);
/// The table of actors that have ended.
[[nodiscard]] std::string ended_table(const Picture& picture);
/// One path a line, actors only.
[[nodiscard]] std::string list_names(const Picture& picture);
/// {"nodes": [...], "actors": [...]}.
[[nodiscard]] Json list_json(const Picture& picture, bool ended);

[[nodiscard]] Json to_json(const NodeLine& node);
[[nodiscard]] Json to_json(const ActorLine& actor, bool ended);

/// Who looks after whom, drawn with lines: nodes, their jobs, their actors.
[[nodiscard]] std::string draw_tree(const Picture& picture);
/// The same as nested objects: a list of nodes, each with `children`.
[[nodiscard]] Json tree_json(const Picture& picture);
/// Paths in the order of the tree, one a line.
[[nodiscard]] std::string tree_names(const Picture& picture);

/// "2 nodes (1 no answer), 5 actors: 4 running, 1 waiting; 31.0 steps/s".
[[nodiscard]] std::string summary(const Picture& picture);

}  // namespace troupe
