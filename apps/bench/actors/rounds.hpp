// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/actors/plan.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace troupe::bench {

/// What came of the rounds on one set of cores.
struct Outcome {
  std::string cores;                                   ///< "0,1"
  unsigned rounds = 0;                                 ///< that were measured
  std::map<std::string, std::vector<double>> samples;  ///< key -> one figure a round
  std::map<std::string, std::string> skipped;          ///< peer or first key of a probe -> why
};

/// The cores that this process may use, at most two.
[[nodiscard]] std::vector<unsigned> usable_cores();

/// Measures all of a plan in interleaved rounds, on each of the given sets of cores. `binaries` has
/// the program of each peer. `tell` hears how far it is.
[[nodiscard]] std::vector<Outcome> run_rounds(const Plan& plan,
                                              const std::vector<std::string>& core_sets,
                                              const std::map<std::string, std::string>& binaries,
                                              const std::function<void(const std::string&)>& tell);

}  // namespace troupe::bench
