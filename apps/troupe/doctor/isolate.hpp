// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/doctor/finding.hpp"
#include "messages/units.hpp"

#include <functional>
#include <string>

namespace troupe::doctor {

/// Runs a probe in a process of its own and hands back what it found. Drivers and libraries that a
/// probe wakes may print, abort or hang: whatever happens there becomes a finding `what` that says
/// so, and nothing of it reaches the caller's output. The process and all that it started are gone
/// when this returns. Call it while the program has one thread.
[[nodiscard]] Findings isolated(const std::string& what, Millis limit,
                                const std::function<Findings()>& probe);

}  // namespace troupe::doctor
