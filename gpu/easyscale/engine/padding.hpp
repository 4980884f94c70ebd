// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace troupe::easyscale {

/// Samples of different lengths as one tensor, and how long they are: a batch is as long as its
/// longest sample, so its shape is a function of which samples are in it, and so of step and rank.
struct Padded {
  at::Tensor values;   ///< {samples, longest, ...}
  at::Tensor lengths;  ///< {samples}, int64
};

/// `samples` are at least one, each with the length as its first dimension and otherwise equal
/// shapes; behind their ends is `fill`.
[[nodiscard]] Padded pad(const std::vector<at::Tensor>& samples, double fill);

}  // namespace troupe::easyscale
