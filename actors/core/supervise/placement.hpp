// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"
#include "messages/units.hpp"

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// Amounts of what a node has and an actor takes.
struct Resources {
  std::uint32_t cpus = 0;
  Bytes memory{0};
  std::uint32_t gpu = 0;

  friend bool operator==(const Resources&, const Resources&) = default;
};

/// What an actor must find on its node. The amounts are taken from what is free there for as long
/// as the actor lives; they are promises between actors, nothing enforces them.
struct Needs {
  Resources amounts;
  std::vector<std::string> labels;

  friend bool operator==(const Needs&, const Needs&) = default;
};

/// "cpus=2 memory=512MiB gpu=1 ssd"; empty: nothing.
[[nodiscard]] std::string to_string(const Needs& needs);
[[nodiscard]] std::string to_string(Bytes bytes);

constexpr std::size_t longest_label = 64;
constexpr const char* label_rule = "use letters, digits and . _ - = /, at most 64 of them";
[[nodiscard]] bool is_label(std::string_view text);

/// A node as placement sees it.
struct PlacementNode {
  NodeId id;
  std::vector<std::string> labels;
  Resources total;
  Resources free;
  bool draining = false;  ///< nothing new is placed on it
};

struct PlacementRequest {
  std::string path;  ///< of the actor
  Needs needs;
  std::vector<NodeId> siblings;  ///< where the other members of its group are, one entry for each
};

/// A node, or why each of them is none.
struct Placement {
  std::optional<NodeId> node;
  std::vector<std::pair<NodeId, std::string>> misfits;
};

/// "gpu=1 (n1: needs gpu=1, 0 are free; n2: is draining)", for "waits for a node with ...".
[[nodiscard]] std::string explain(const PlacementRequest& request, const Placement& none);

/// Decides where actors live. Pure: the same question has the same answer.
class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  [[nodiscard]] virtual Placement place(const PlacementRequest& request,
                                        const std::vector<PlacementNode>& nodes) const = 0;
};

/// Why the actor does not fit there; empty: it fits.
[[nodiscard]] std::string misfit(const Needs& needs, const PlacementNode& node);

/// Of the nodes that it fits on the one with the fewest of its siblings, of these the one with most
/// processors free, then most memory, then the first by name.
[[nodiscard]] std::unique_ptr<PlacementPolicy> make_spreading_policy();

}  // namespace troupe
