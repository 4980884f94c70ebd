// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/node.hpp"
#include "apps/troupe/options.hpp"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <memory>
#include <string>

namespace troupe {

/// What makes `troupe node` a host: an actor that launches programs for the jobs of other nodes,
/// with what the node offers and this machine's GPUs. Ends all of them with itself.
class LaunchesForOthers {
 public:
  /// `secret`: the cluster secret's text. Errors: there is no place for logs.
  [[nodiscard]] static Result<std::unique_ptr<LaunchesForOthers>> start(
      Node& node, const NodeOffer& offer, const NodeCommandOptions& options,
      const std::string& secret);
  ~LaunchesForOthers();
  LaunchesForOthers(const LaunchesForOthers&) = delete;

 private:
  LaunchesForOthers(Node& node, caf::actor host) : node_(node), host_(std::move(host)) {}

  Node& node_;
  caf::actor host_;
};

}  // namespace troupe
