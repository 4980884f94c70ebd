// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/vrank_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace troupe::easyscale {

/// Which coordinator of a job: each that takes over has a higher one than those before it.
using Term = std::uint32_t;
[[nodiscard]] constexpr std::uint64_t first_generation(Term term) {
  return std::uint64_t{term} << 32;
}

/// A trainer's place in its group: trainers/2 is member 2, whichever process lives there now.
using Member = std::uint32_t;

/// Who trains from which step on, and who computes which ranks: what the coordinator decides each
/// time that a member comes or goes. A value; generations only grow, from one coordinator to the
/// next as well: the upper 32 bits are the coordinator's term.
struct View {
  std::uint64_t generation = 0;   ///< 0: no view yet
  std::uint64_t step = 0;         ///< the first step that it computes
  std::vector<Member> members;    ///< ascending
  std::vector<RankRange> ranges;  ///< of each member, in the same order
  Member donor = 0;               ///< has the state of `step` and sends it to the joiners
  std::vector<Member> joiners;    ///< members that are not known to have the state

  [[nodiscard]] std::optional<std::size_t> slot_of(Member member) const {
    const auto at = std::lower_bound(members.begin(), members.end(), member);
    if (at == members.end() || *at != member) return std::nullopt;
    return static_cast<std::size_t>(at - members.begin());
  }
  [[nodiscard]] bool joins(Member member) const {
    return std::find(joiners.begin(), joiners.end(), member) != joiners.end();
  }
  /// The member that keeps a copy of the state outside its own process, before it begins a step. It
  /// is one that has the state: while a joiner waits for it, the only one that has it may die.
  [[nodiscard]] Member keeper() const { return donor; }

  friend bool operator==(const View&, const View&) = default;
};

}  // namespace troupe::easyscale
