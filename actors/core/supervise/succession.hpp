// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// A life of a path that a host has, as it tells a supervisor that takes over from another.
struct FoundLife {
  NodeId host;
  std::uint64_t life = 0;  ///< later ones are higher
  bool orphan = false;     ///< nobody else looks after it
  bool ready = false;      ///< its actor lives, and nobody has asked it to end

  friend bool operator==(const FoundLife&, const FoundLife&) = default;
};

/// What a successor does about a path of which its hosts have these lives.
struct Succession {
  std::optional<FoundLife> adopt;
  std::vector<FoundLife> end;  ///< older orphans
  std::string waits_for;       ///< until the hosts are asked again; empty: adopt, or launch it
};

/// A life is launched only where there is none, and adopted only when it is the only one that
/// somebody may look after. While one has an owner, or the latest is still starting or ending, the
/// successor waits: an owner that is gone is missed soon, one that is not has a right to it.
[[nodiscard]] Succession succeed(const std::vector<FoundLife>& found);

}  // namespace troupe
