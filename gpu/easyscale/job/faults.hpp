// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/view.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::easyscale {

/// Where within a step a trainer kills itself on request.
enum class FaultPhase : std::uint8_t {
  forward,    ///< after half of its ranks
  exchange,   ///< after sending its partial sums
  optimizer,  ///< after the step was committed, before its state is saved
};

/// One requested death, for tests and `run --kill-one-at`.
struct Fault {
  std::uint64_t step = 0;
  FaultPhase phase = FaultPhase::forward;
  Member trainer = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Reads "STEP", "STEP:PHASE" or "STEP:PHASE:TRAINER"; by default phase forward and trainer STEP
/// mod `count`.
[[nodiscard]] Result<Fault> parse_fault(const std::string& text, std::uint32_t count);

[[nodiscard]] Result<std::vector<Fault>> parse_faults(const std::vector<std::string>& texts,
                                                      std::uint32_t count);

[[nodiscard]] std::string to_string(FaultPhase phase);

}  // namespace troupe::easyscale
