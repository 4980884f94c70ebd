// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/vrank_tree.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe::easyscale {

/// The `counter`-th 64-bit number of the stream that `key` names: a pure function, so there is no
/// generator state to keep, to move or to lose.
[[nodiscard]] std::uint64_t random_at(std::uint64_t key, std::uint64_t counter);

/// The seed of everything random that a rank does in one step (dropout, augmentation).
[[nodiscard]] std::uint64_t rank_seed(std::uint64_t seed, std::uint64_t step, Rank rank);

/// A permutation of 0 .. size - 1 that depends on seed and epoch alone.
[[nodiscard]] std::vector<std::uint32_t> permutation(std::uint64_t seed, std::uint64_t epoch,
                                                     std::uint32_t size);

/// Says which samples a rank trains on in a step: sample j of rank v in step t of an epoch is
/// permutation[(t * ranks + v) * batch + j]. What is left over at the end of an epoch is dropped,
/// so that every batch has the same shape. A value; keeps one epoch's permutation at hand.
class Sampler {
 public:
  /// Refuses a data set that does not fill one step.
  [[nodiscard]] static Result<Sampler> make(std::uint64_t seed, std::size_t samples, Rank ranks,
                                            std::uint32_t batch);

  [[nodiscard]] std::uint64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// `step` counts from the start of the job, over all epochs.
  [[nodiscard]] std::vector<std::uint32_t> batch(std::uint64_t step, Rank rank);

 private:
  Sampler() = default;

  std::uint64_t seed_ = 0;
  std::uint32_t samples_ = 0;
  Rank ranks_ = 1;
  std::uint32_t batch_ = 1;
  std::uint64_t steps_per_epoch_ = 0;
  std::uint64_t epoch_ = UINT64_MAX;  // of order_
  std::vector<std::uint32_t> order_;
};

}  // namespace troupe::easyscale
