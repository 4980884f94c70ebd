// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor_control_block.hpp>

#include <bit>
#include <functional>
#include <unordered_map>

namespace troupe {

/// A weak pointer keeps its actor's memory, so those of ended actors go now and then: whenever the
/// table has come to a power of two, which costs little for each entry.
/// `pointer_of` gives an entry's pointer.
template <class Table, class PointerOf = std::identity>
void drop_ended(Table& table, PointerOf pointer_of = {}) {
  if (table.size() < 1024 || !std::has_single_bit(table.size())) return;
  std::erase_if(table, [&](const auto& entry) {
    const caf::weak_actor_ptr& actor = pointer_of(entry.second);
    return actor == nullptr || actor.get()->strong_refs == 0;
  });
}

}  // namespace troupe
