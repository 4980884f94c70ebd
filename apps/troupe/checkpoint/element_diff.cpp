// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/checkpoint/element_diff.hpp"

#include "gpu/easyscale/checkpoint/store_link.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace troupe {
namespace {

using easyscale::TensorRecord;

Result<std::vector<std::byte>> whole(const OpenCheckpoint& checkpoint, const TensorRecord& tensor) {
  std::vector<std::byte> bytes;
  const auto read = easyscale::read_tensor(checkpoint.folder, checkpoint.manifest, tensor,
                                           [&](std::span<const std::byte> piece) {
                                             bytes.insert(bytes.end(), piece.begin(), piece.end());
                                           });
  if (!read) return Failure(read.error());
  return bytes;
}

}  // namespace

Result<std::optional<TensorDifference>> compare_tensor(const OpenCheckpoint& a,
                                                       const OpenCheckpoint& b,
                                                       const std::string& name) {
  const TensorRecord* left = a.manifest.find(name);
  const TensorRecord* right = b.manifest.find(name);
  TensorDifference out;
  out.tensor = name;
  if (left == nullptr || right == nullptr) {
    if (left == right) return std::nullopt;
    out.what = left == nullptr ? "is in the second only" : "is in the first only";
    return out;
  }
  out.shape = left->info.shape;
  if (left->info != right->info) {
    out.what = "has another type or shape";
    return out;
  }
  if (left->sha256 == right->sha256) return std::nullopt;
  const auto first = whole(a, *left);
  if (!first) return Failure(first.error());
  const auto second = whole(b, *right);
  if (!second) return Failure(second.error());
  easyscale::TensorDiff diff(left->info.dtype);
  diff.add(*first, *second);
  out.elements = diff.differing();
  out.first = diff.first();
  out.largest = diff.largest();
  return out;
}

std::string number_text(double number) { return fmt::format("{}", number); }

Json::Object as_json(const TensorDifference& one, const easyscale::ElementDifference& element) {
  return {{"tensor", one.tensor},
          {"element", easyscale::index_text(element.element, one.shape)},
          {"a", element.a},
          {"b", element.b},
          {"difference", std::abs(element.a - element.b)}};
}

}  // namespace troupe
