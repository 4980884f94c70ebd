// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/remote/remote_actors.hpp"

#include <optional>
#include <string>

namespace troupe {

/// The node that this one was told to join, and without which it is of no use: what happens to
/// other nodes never ends this one. Values only; owned by the node command.
class Lifeline {
 public:
  /// `ends_with_it`: a launched process ends when the node that it has joined is gone.
  Lifeline(std::optional<Address> join, bool ends_with_it)
      : join_(std::move(join)), ends_with_it_(ends_with_it) {}

  void on(const PeerUp& up);
  /// The reason to end, if there is one.
  [[nodiscard]] std::optional<std::string> on(const PeerDown& down) const;

 private:
  std::optional<Address> join_;
  bool ends_with_it_;
  std::optional<NodeId> joined_;
};

}  // namespace troupe
