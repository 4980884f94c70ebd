// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/byte_stream.hpp"
#include "messages/result.hpp"

#include <ATen/core/Tensor.h>

#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace troupe::easyscale {

/// Refuses optimizers whose state we cannot carry, and those over other parameters than the
/// model's.
Result<void> check_optimizer(const torch::optim::Optimizer& optimizer,
                             const std::vector<at::Tensor>& parameters);

/// Writes one record per parameter, group by group: its step count and its slots (momentum,
/// moments).
void write_optimizer(const torch::optim::Optimizer& optimizer, ByteWriter& out);

/// Replaces the optimizer's state by the records, which are all that is left in `in`; the optimizer
/// is of the kind and over the parameters that they were written from, or else this is an Error and
/// nothing changes.
Result<void> read_optimizer(torch::optim::Optimizer& optimizer, ByteReader& in);

}  // namespace troupe::easyscale
