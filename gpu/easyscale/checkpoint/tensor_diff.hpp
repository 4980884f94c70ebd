// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/tensor_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::easyscale {

/// Two values at one place.
struct ElementDifference {
  std::uint64_t element = 0;  ///< in row-major order
  double a = 0;
  double b = 0;
};

/// Compares the bytes of two tensors of one type as they come, bit by bit: other zeros and other
/// NaNs differ.
class TensorDiff {
 public:
  explicit TensorDiff(Dtype dtype) : dtype_(dtype) {}

  /// The next elements of both, as many of each.
  void add(std::span<const std::byte> a, std::span<const std::byte> b);

  [[nodiscard]] std::uint64_t differing() const { return differing_; }
  [[nodiscard]] const std::optional<ElementDifference>& first() const { return first_; }
  /// Where |a - b| is largest; a difference that is no number counts as larger than all.
  [[nodiscard]] const std::optional<ElementDifference>& largest() const { return largest_; }

 private:
  Dtype dtype_;
  std::uint64_t element_ = 0;
  std::uint64_t differing_ = 0;
  std::optional<ElementDifference> first_;
  std::optional<ElementDifference> largest_;
};

/// An element as a number; 64-bit integers lose what a double cannot hold.
[[nodiscard]] double number_of(Dtype dtype, const std::byte* element);

/// 1234 in a tensor of shape [10, 16, 10] -> "[7, 11, 4]"
[[nodiscard]] std::string index_text(std::uint64_t element,
                                     const std::vector<std::uint64_t>& shape);

}  // namespace troupe::easyscale
