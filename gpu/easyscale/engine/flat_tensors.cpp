// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/flat_tensors.hpp"

#include <ATen/ATen.h>

#include <cstring>

namespace troupe::easyscale {
namespace {

bool is_plain(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.is_contiguous() && !tensor.is_conj();
}

}  // namespace

std::size_t total_bytes(const std::vector<at::Tensor>& tensors) {
  std::size_t sum = 0;
  for (const at::Tensor& tensor : tensors) sum += tensor.nbytes();
  return sum;
}

void gather(const std::vector<at::Tensor>& tensors, std::byte* out) {
  for (const at::Tensor& tensor : tensors) {
    const at::Tensor flat =
        is_plain(tensor) ? tensor : tensor.detach().to(at::kCPU).resolve_conj().contiguous();
    if (flat.nbytes() > 0) std::memcpy(out, flat.data_ptr(), flat.nbytes());
    out += flat.nbytes();
  }
}

void scatter(std::span<const std::byte> bytes, const std::vector<at::Tensor>& tensors) {
  const at::NoGradGuard no_grad;
  for (const at::Tensor& tensor : tensors) {
    const auto mine = bytes.first(tensor.nbytes());
    bytes = bytes.subspan(mine.size());
    if (mine.empty()) continue;
    if (is_plain(tensor)) {
      std::memcpy(tensor.data_ptr(), mine.data(), mine.size());
      continue;
    }
    const at::Tensor flat = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
    std::memcpy(flat.data_ptr(), mine.data(), mine.size());
    tensor.copy_(flat);
  }
}

}  // namespace troupe::easyscale
