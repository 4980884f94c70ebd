// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/actors/plan.hpp"
#include "apps/bench/actors/rounds.hpp"
#include "apps/troupe/json.hpp"

#include <string>
#include <vector>

namespace troupe::bench {

/// Medians of the rounds by key, and beside them spread, samples, bars and what was skipped.
[[nodiscard]] Json::Object figures_of(const Plan& plan, const Outcome& outcome);

/// The whole answer: figures of the first outcome at the top, those of the second as `one_core`.
[[nodiscard]] Json report(const Plan& plan, const std::vector<Outcome>& outcomes,
                          Json::Object conditions);

/// The same for people.
[[nodiscard]] std::string report_table(const Plan& plan, const std::vector<Outcome>& outcomes);

}  // namespace troupe::bench
