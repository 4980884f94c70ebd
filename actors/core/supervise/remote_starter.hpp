// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"
#include "actors/core/process_host.hpp"
#include "actors/core/supervise/node_directory.hpp"
#include "actors/core/supervise/placement.hpp"

#include <memory>

namespace troupe {

/// A ProcessHost that starts its programs on other nodes: asks the policy for one of the
/// directory's nodes, and that node's host actor to launch it there. Where none fits, the child
/// waits and an event says for what; that spends no restart. When a node goes down, so do all
/// children on it. Of a supervisor that takes over (HostedActor::term) the first life of each child
/// is one that the directory's hosts keep already, if there is any: see succeed(). `emit` may be
/// empty. The directory lives as long as the result.
[[nodiscard]] std::shared_ptr<ProcessHost> make_cluster_host(
    Node& node, std::shared_ptr<NodeDirectory> directory, std::unique_ptr<PlacementPolicy> policy,
    EventSink emit);

}  // namespace troupe
