// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/sampler.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

namespace troupe::easyscale::test {

/// Numbers of very different magnitudes, so that the order of additions shows in the bits.
inline std::vector<float> awkward_floats(std::uint64_t key, std::size_t length) {
  std::vector<float> out(length);
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t bits = random_at(key, i);
    const float unit = static_cast<float>(bits >> 40U) / static_cast<float>(1U << 24U) - 0.5F;
    out[i] = unit * static_cast<float>(1U << (bits % 20U));
  }
  return out;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace troupe::easyscale::test
