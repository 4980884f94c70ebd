// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::easyscale {

/// Bytes of all elements together.
[[nodiscard]] std::size_t total_bytes(const std::vector<at::Tensor>& tensors);

/// Copies tensors, of any device and layout, one after the other into flat memory, each in
/// row-major order. Undefined ones are not allowed.
void gather(const std::vector<at::Tensor>& tensors, std::byte* out);

/// And back: `bytes` holds as many as the tensors do. Writes in place, also where gradients are
/// asked for.
void scatter(std::span<const std::byte> bytes, const std::vector<at::Tensor>& tensors);

}  // namespace troupe::easyscale
