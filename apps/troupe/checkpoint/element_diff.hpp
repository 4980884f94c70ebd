// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/json.hpp"
#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "gpu/easyscale/checkpoint/tensor_diff.hpp"
#include "messages/result.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace troupe {

/// How one tensor differs between two checkpoints.
struct TensorDifference {
  std::string tensor;
  std::string what;  ///< where there are no elements to compare: "is in A only"
  std::vector<std::uint64_t> shape;
  std::uint64_t elements = 0;  ///< that differ
  std::optional<easyscale::ElementDifference> first;
  std::optional<easyscale::ElementDifference> largest;
};

/// A checkpoint with its table of contents.
struct OpenCheckpoint {
  std::filesystem::path folder;
  easyscale::Manifest manifest;
};

/// How a tensor differs; none where it does not. Bytes are read where the hashes differ, and must
/// be those that were hashed.
[[nodiscard]] Result<std::optional<TensorDifference>> compare_tensor(const OpenCheckpoint& a,
                                                                     const OpenCheckpoint& b,
                                                                     const std::string& name);

/// {"tensor":..., "element":[...], "a":..., "b":..., "difference":...}
[[nodiscard]] Json::Object as_json(const TensorDifference& one,
                                   const easyscale::ElementDifference& element);
/// As short as it can be read back from: "0.1", "-3e-08".
[[nodiscard]] std::string number_text(double number);

}  // namespace troupe
