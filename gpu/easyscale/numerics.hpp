// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace troupe::easyscale {

/// Makes what this thread computes independent of how many cores there are: one thread per
/// operator, deterministic kernels. Process-wide where torch has it process-wide; call it before
/// computing.
void pin_numerics();

/// The libraries and CPU features that decide about bits, as names and values ("torch", "blas",
/// "capability", "onednn", "cpu", "threads").
[[nodiscard]] std::vector<std::pair<std::string, std::string>> about_numerics();

/// The same in one line: trainers whose lines differ do not train together.
[[nodiscard]] std::string numeric_fingerprint();

}  // namespace troupe::easyscale
