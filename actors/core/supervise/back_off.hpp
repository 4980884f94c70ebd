// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/units.hpp"

#include <algorithm>
#include <cstdint>

namespace troupe {

/// How long a supervisor waits before it starts a child again: the first time not at all, then
/// `first`, and twice as long each time that the child ends again before it has lived for `calm`;
/// never longer than `most`. Jitter of a quarter up and down keeps children that failed together
/// from coming back together.
struct BackOff {
  Millis first{100};
  Millis most{30000};
  Millis calm{60000};

  friend bool operator==(const BackOff&, const BackOff&) = default;

  /// The wait after that many ends without calm (0: this is the first), the same for the same seed.
  [[nodiscard]] Millis delay(std::uint32_t ended_before, std::uint64_t seed) const {
    if (ended_before == 0) return Millis(0);
    const auto doublings = std::min<std::uint32_t>(ended_before - 1, 40);
    auto base = first;
    for (std::uint32_t i = 0; i < doublings && base < most; ++i) base *= 2;
    base = std::min(base, most);
    const auto quarter = base.count() / 4;
    const auto shift = static_cast<std::int64_t>(mix(seed + ended_before) %
                                                 (2 * static_cast<std::uint64_t>(quarter) + 1));
    return std::min(Millis(base.count() - quarter + shift), most);
  }

 private:
  static std::uint64_t mix(std::uint64_t x) {  // splitmix64
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
};

}  // namespace troupe
