// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace troupe {

/// One life of one node. A node that is started again has the same name and another incarnation, so
/// nothing that was meant for the old one can reach the new one.
struct NodeId {
  std::string name;
  std::uint64_t incarnation = 0;

  friend auto operator<=>(const NodeId&, const NodeId&) = default;
};

/// Longest name of a node.
constexpr std::size_t max_node_name = 100;

/// Names of nodes are letters, digits, '.', '_' and '-', at most 100 of them.
[[nodiscard]] inline bool is_node_name(std::string_view name) {
  return !name.empty() && name.size() <= max_node_name &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

/// The number of an actor within its node; 0 is nobody.
using ActorNumber = std::uint64_t;

/// Where a node's control port listens: a numeric IPv4 or IPv6 address and a TCP port.
struct Address {
  std::string host;
  std::uint16_t port = 0;

  friend auto operator<=>(const Address&, const Address&) = default;
};

/// An actor anywhere: its node, where that node can be called, and its number there.
struct ActorRef {
  NodeId node;
  Address control;
  ActorNumber actor = 0;

  friend auto operator<=>(const ActorRef&, const ActorRef&) = default;
};

[[nodiscard]] inline std::string to_string(const NodeId& id) {
  return id.name + "/" + std::to_string(id.incarnation);
}

[[nodiscard]] inline std::string to_string(const Address& a) {
  const bool v6 = a.host.find(':') != std::string::npos;
  return (v6 ? "[" + a.host + "]" : a.host) + ":" + std::to_string(a.port);
}

}  // namespace troupe

template <>
struct std::hash<troupe::NodeId> {
  std::size_t operator()(const troupe::NodeId& id) const noexcept {
    return std::hash<std::string>{}(id.name) ^ (id.incarnation * 0x9e3779b97f4a7c15ull);
  }
};
