// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor_control_block.hpp>

#include <bit>
#include <unordered_map>

namespace troupe {

/// A weak pointer keeps its actor's memory, so those of ended actors go now and then: whenever the
/// table has come to a power of two, which costs little for each entry.
template <class Table>
void drop_ended(Table& table) {
  if (table.size() < 1024 || !std::has_single_bit(table.size())) return;
  std::erase_if(table, [](const auto& entry) {
    return entry.second == nullptr || entry.second.get()->strong_refs == 0;
  });
}

}  // namespace troupe
