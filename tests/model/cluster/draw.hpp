// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/units.hpp"

#include <cstdint>
#include <random>

namespace troupe::model {

/// Numbers for a schedule, all from one seed.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed) {}
  /// least to most, both included.
  std::uint64_t of(std::uint64_t least, std::uint64_t most) {
    return least + random_() % (most - least + 1);
  }
  Millis ms(std::uint64_t least, std::uint64_t most) { return Millis(of(least, most)); }

 private:
  std::mt19937_64 random_;
};

}  // namespace troupe::model
