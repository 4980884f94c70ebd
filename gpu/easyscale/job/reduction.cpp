// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/reduction.hpp"

#include <cstring>
#include <utility>

namespace troupe::easyscale {

std::string to_string(Reducer reducer) {
  switch (reducer) {
    case Reducer::tree:
      return "tree";
    case Reducer::int64:
      return "int64";
    case Reducer::chain:
      break;
  }
  return "chain";
}

std::unique_ptr<Reduction> make_reduction(Reducer reducer, const View& view, std::size_t slot,
                                          Rank ranks, std::size_t length) {
  ReductionShape shape{view.ranges, slot, ranks, {length, view.members.size()}};
  switch (reducer) {
    case Reducer::tree:
      return make_tree_reduction(std::move(shape));
    case Reducer::int64:
      return make_int64_reduction(std::move(shape));
    case Reducer::chain:
      break;
  }
  return make_chain_reduction(std::move(shape));
}

template <class Number>
Numbers<Number>::Numbers(std::span<const std::byte> bytes) {
  const std::size_t count = bytes.size() / sizeof(Number);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(Number) == 0) {
    view_ = {reinterpret_cast<const Number*>(bytes.data()), count};
    return;
  }
  copy_.resize(count);
  std::memcpy(copy_.data(), bytes.data(), count * sizeof(Number));
  view_ = copy_;
}

template class Numbers<float>;
template class Numbers<std::int64_t>;
template class Numbers<std::uint32_t>;

Result<void> check_partial(const Slice& bytes, std::size_t element, std::size_t length) {
  if (bytes.size() == element * length) return {};
  return fail(ErrorCode::corrupt, "a partial sum of " + std::to_string(bytes.size()) +
                                      " bytes for a shard of " + std::to_string(length) +
                                      " elements");
}

}  // namespace troupe::easyscale
