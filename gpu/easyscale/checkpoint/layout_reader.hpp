// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/byte_stream.hpp"
#include "gpu/easyscale/checkpoint/state_layout.hpp"
#include "messages/result.hpp"

#include <ATen/core/Tensor.h>
#include <torch/ordered_dict.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace torch::optim {
class Optimizer;
}

namespace troupe::easyscale {

/// Follows a saved state from tensor to tensor and notes where each is. What does not fit is told
/// by done(), which is called last.
class LayoutReader {
 public:
  explicit LayoutReader(std::span<const std::byte> saved) : saved_(saved), in_(saved) {}

  void skip(std::size_t size) { good_ = good_ && in_.get_bytes(size).has_value(); }
  /// The next bytes are a tensor of the type and shape of `like`.
  void take(const std::string& name, const at::Tensor& like);
  /// The next bytes are what write_optimizer() writes; `names` are the parameters'.
  void take_optimizer(const torch::optim::Optimizer& optimizer,
                      const torch::OrderedDict<std::string, at::Tensor>& names);
  /// The state must be at its end now.
  Result<StateLayout> done();

 private:
  void take(TensorInfo info, std::size_t size);

  std::span<const std::byte> saved_;
  ByteReader in_;
  StateLayout layout_;
  bool good_ = true;
};

}  // namespace troupe::easyscale
