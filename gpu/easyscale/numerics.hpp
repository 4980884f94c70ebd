// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/determinism.hpp"
#include "messages/result.hpp"

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

/// Whether this process can honour a level; the error says what stands against it.
Result<void> check_numerics(Determinism level);

/// What decides about bits at a level, in one line: trainers whose lines differ do not train
/// together.
[[nodiscard]] std::string numeric_fingerprint(Determinism level);

}  // namespace troupe::easyscale
