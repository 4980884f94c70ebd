// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace troupe::doctor {

/// ok: it is there; note: it is there or not, and the user should know; missing: something cannot
/// be done on this machine.
enum class Verdict { ok, note, missing };

/// One row of `troupe doctor`: what was looked at, what was found, what follows for the user.
struct Finding {
  std::string what;  ///< "kvm"
  Verdict verdict = Verdict::ok;
  std::string found;  ///< "API version 12, dirty ring"
  std::string means;  ///< "virtual machines can run here"

  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

}  // namespace troupe::doctor
