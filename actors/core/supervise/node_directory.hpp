// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/supervise/placement.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "messages/units.hpp"

#include <caf/actor.hpp>

#include <memory>
#include <vector>

namespace troupe {

class Node;

/// A node that launches programs for others, and the actor that does it.
struct HostNode {
  PlacementNode node;
  caf::actor host;
};

/// Tells a watcher that hosts have come or gone, or have other resources than before.
struct HostsChanged {
  using actor_message = void;
};

/// Which nodes there are to place actors on. Safe from any thread.
class NodeDirectory {
 public:
  virtual ~NodeDirectory() = default;
  [[nodiscard]] virtual std::vector<HostNode> hosts() const = 0;
  virtual void watch(const caf::actor& watcher) = 0;
};

/// A directory of the peers of a node: asks each that comes up whether it is a host, and hosts
/// every two seconds for what is free.
class PeerDirectory : public NodeDirectory {
 public:
  [[nodiscard]] static std::shared_ptr<PeerDirectory> make(Node& node);

  /// Joins the nodes that listen there and waits until each has said whether it is a host and
  /// nothing new has come for a moment, so that the first actors find all of them; at most `limit`.
  /// The error, where none of them could be joined, says why.
  [[nodiscard]] virtual Result<void> join(const std::vector<Address>& members, Millis limit) = 0;
};

}  // namespace troupe
