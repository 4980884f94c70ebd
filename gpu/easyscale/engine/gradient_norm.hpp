// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace troupe::easyscale {

/// The Euclidean norm of a whole gradient: always added up in the same order, so that its bits
/// depend on the numbers alone, not on who computes it, on how many threads or with which
/// instruction set. Not finite if any number is not.
[[nodiscard]] double gradient_norm(std::span<const float> gradient);

/// What a gradient of this norm is to be multiplied by so that its norm becomes `most`; 1 if it is
/// smaller already, or if `most` is 0.
[[nodiscard]] float clip_factor(double norm, double most);

}  // namespace troupe::easyscale
