// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace troupe::easyscale {

/// The states of the last two steps in a memory file (memfd) that outlives the trainers of a host:
/// a trainer that dies at any instant of a save leaves the other slot whole. The file is only read
/// and written by offset, so any number of processes may hold it; the keeper of a view writes, a
/// trainer that comes up reads. Neither owns nor closes the descriptor.
class StepSlots {
 public:
  explicit StepSlots(int fd) : fd_(fd) {}

  struct Saved {
    std::uint64_t step = 0;
    std::vector<std::byte> state;
  };

  /// Writes the state at the start of a step; nothing to do where it is there already.
  Result<void> save(std::uint64_t step, std::span<const std::byte> state);

  /// The newest whole state; none in an empty file. Slots that are not whole are passed over.
  [[nodiscard]] Result<std::optional<Saved>> latest() const;

 private:
  int fd_;
};

}  // namespace troupe::easyscale
