// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/padding.hpp"

#include <ATen/ATen.h>

#include <algorithm>

namespace troupe::easyscale {

Padded pad(const std::vector<at::Tensor>& samples, double fill) {
  std::int64_t longest = 0;
  for (const at::Tensor& sample : samples) longest = std::max(longest, sample.size(0));
  auto shape = samples.front().sizes().vec();
  shape[0] = longest;
  shape.insert(shape.begin(), static_cast<std::int64_t>(samples.size()));
  Padded out{at::full(shape, fill, samples.front().options()),
             at::empty({static_cast<std::int64_t>(samples.size())}, at::kLong)};
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const std::int64_t length = samples[i].size(0);
    out.values[row].narrow(0, 0, length).copy_(samples[i]);
    out.lengths.data_ptr<std::int64_t>()[i] = length;
  }
  return out;
}

}  // namespace troupe::easyscale
