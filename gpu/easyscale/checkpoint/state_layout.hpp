// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/tensor_file.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::easyscale {

/// A tensor within the block of bytes that a replica's state is saved as.
struct StateTensor {
  TensorInfo info;
  std::uint64_t offset = 0;
};

/// What is where in a saved state, so that it can be kept tensor by tensor. Tensors are in the
/// order of their bytes and do not overlap; what lies between them is the state's own bookkeeping.
struct StateLayout {
  std::string optimizer;  ///< its kind: "sgd", "adam", "adamw"
  std::vector<StateTensor> tensors;
};

}  // namespace troupe::easyscale
