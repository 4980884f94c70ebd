// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/transport.hpp"
#include "messages/ids.hpp"
#include "messages/units.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// What a node has for actors that others place on it.
struct NodeOffer {
  std::vector<std::string> labels;  ///< "zone=a"
  double cpus = 0;                  ///< 1.5: a control group may grant parts
  Bytes memory;

  friend bool operator==(const NodeOffer&, const NodeOffer&) = default;
};

/// Limits of what a node may offer; more of it is not taken from others either.
constexpr std::size_t max_labels = 32;

enum class MemberState : std::uint8_t {
  alive,
  suspect,  ///< silent; others are being asked for it
  leaving,  ///< alive, and about to end: nothing new should be placed there
  left,     ///< it has said goodbye
  down,     ///< declared dead; this incarnation never comes back
};

/// What one member knows of another. A value.
struct Member {
  NodeId id;
  Address control;
  NodeRole role = NodeRole::host;
  NodeOffer offer;
  MemberState state = MemberState::alive;
  /// Of a member that is down: its process is known to have ended. Where it is not, the member may
  /// only be silent, and may go on for a while with what it does.
  bool confirmed = false;
  std::string why;  ///< of its state, where there is something to say

  friend bool operator==(const Member&, const Member&) = default;
};

/// Only they take part in the cluster: workers and clients are known to those that they talk to.
[[nodiscard]] constexpr bool is_member(NodeRole role) {
  return role == NodeRole::control || role == NodeRole::host;
}

/// Is there a connection to it?
[[nodiscard]] constexpr bool is_present(MemberState state) {
  return state == MemberState::alive || state == MemberState::suspect ||
         state == MemberState::leaving;
}

[[nodiscard]] constexpr const char* to_string(MemberState state) {
  switch (state) {
    case MemberState::alive:
      return "alive";
    case MemberState::suspect:
      return "suspect";
    case MemberState::leaving:
      return "leaving";
    case MemberState::left:
      return "left";
    case MemberState::down:
      return "down";
  }
  return "?";
}

[[nodiscard]] constexpr const char* to_string(NodeRole role) {
  switch (role) {
    case NodeRole::control:
      return "control";
    case NodeRole::host:
      return "host";
    case NodeRole::worker:
      return "worker";
    case NodeRole::client:
      return "client";
  }
  return "?";
}

}  // namespace troupe
