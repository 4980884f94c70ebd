// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <caf/actor.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace troupe {

/// What a child of a supervisor leaves there for its next life.
struct Kept {
  caf::actor keeper;       ///< the supervisor; empty: nobody keeps anything
  std::uint64_t life = 0;  ///< which one this is
  Slice state;             ///< what an earlier life has left last; empty: nothing
};

constexpr std::size_t max_snapshot = std::size_t{1} << 20;

/// Sends `state` to the supervisor of the actor at `path`, which hands it to the lives after this
/// one. The last one counts; it is kept in memory, for as long as that supervisor lives. Errors:
/// nobody keeps it, more than max_snapshot bytes.
[[nodiscard]] Result<void> keep_snapshot(const std::string& path, const Kept& kept, Slice state);

}  // namespace troupe
