// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace troupe::model {

/// 1 to `usual`, in a long run (TROUPE_LONG=1) to `many`; TROUPE_SEED=N: that one.
inline std::vector<std::uint64_t> seeds(std::uint64_t usual, std::uint64_t many) {
  if (const char* seed = std::getenv("TROUPE_SEED"); seed != nullptr) return {std::stoull(seed)};
  const char* thorough = std::getenv("TROUPE_LONG");
  const bool all = thorough != nullptr && std::string(thorough) == "1";
  std::vector<std::uint64_t> list(all ? many : usual);
  for (std::uint64_t i = 0; i < list.size(); ++i) list[i] = i + 1;
  return list;
}

/// A schedule, what was wrong in it, and the command that runs it again.
inline std::string report(const std::string& schedule, std::uint64_t seed,
                          const std::vector<std::string>& wrong, const std::string& test) {
  std::string text = schedule;
  for (const auto& one : wrong) text += "\n  WRONG: " + one;
  return text + "\nagain: TROUPE_SEED=" + std::to_string(seed) +
         " build/release/bin/model_cluster --run_test=" + test;
}

}  // namespace troupe::model
