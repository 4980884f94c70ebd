// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/remote/proxy_table.hpp"
#include "actors/core/remote/ties.hpp"
#include "actors/net/transport.hpp"
#include "messages/frame.hpp"
#include "messages/ids.hpp"

#include <caf/node_id.hpp>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

namespace troupe {

/// Another node, as this one knows it: from the first handle that names it until it is lost, and
/// for as long as there are handles. Shared by RemoteActors and the proxies.
struct RemoteNode {
  enum class State { unknown, calling, up, gone };

  RemoteNode(NodeId node, caf::node_id in_caf) : id(std::move(node)), caf_id(std::move(in_caf)) {}

  const NodeId id;
  const caf::node_id caf_id;
  ProxyTable proxies;
  Ties ties;

  std::atomic<State> state{State::unknown};  ///< changed under RemoteActors' mutex
  // The rest is guarded by that.
  PeerInfo info;               ///< where it is up
  Address called;              ///< where it is being called
  std::vector<Frame> waiting;  ///< for that call
  std::size_t waiting_bytes = 0;
};

}  // namespace troupe
