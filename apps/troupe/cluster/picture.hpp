// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

class ClusterClient;

/// A node as its cluster sees it now.
struct NodeLine {
  NodeId id;
  std::string state;  ///< "up", "draining", "no answer"
  std::string why;    ///< no answer: since when, or what went wrong
  int pid = 0;        ///< 0: not known
  double up_s = 0;
  std::string version;
  Address control;
};

/// An actor, or the end of one.
struct ActorLine {
  std::string path;
  std::string kind;
  std::string supervisor;
  std::string restart;
  std::string node;
  std::string looked_after_by;  ///< the node whose supervisor it has, "name/incarnation"
  int pid = 0;
  std::string state;
  double since_s = 0;
  std::uint32_t restarts = 0;
  std::optional<double> steps_per_s;
  std::uint64_t step = 0;
  std::string waits_for;
  std::string cause;
  double lived_s = 0;
};

struct Picture {
  std::vector<NodeLine> nodes;    ///< the one that was asked first
  std::vector<ActorLine> actors;  ///< in the order of paths; ended ones the last first
  bool complete = true;           ///< false: there are more actors than are ever fetched
};

/// What to look at.
struct Look {
  std::string prefix;  ///< a path: it and what is below it
  bool ended = false;  ///< those that have ended, instead of those that live
};

/// The most actors that are fetched.
constexpr std::size_t most_actors = 100000;

/// Asks the joined node, and through it all others that it knows, page by page. A node that does
/// not answer is in the picture as such. Errors: the joined node itself does not answer.
[[nodiscard]] Result<Picture> take_picture(ClusterClient& client, const Look& look);

}  // namespace troupe
