// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers: a golden-ratio step through 64-bit space, then a finaliser that
// spreads every input bit over the output (SplitMix64: Steele, Lea and Flood, OOPSLA 2014), once
// over the key and once over key and counter together.
#include "gpu/easyscale/job/sampler.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

namespace troupe::easyscale {
namespace {

constexpr std::uint64_t golden_gamma = 0x9E3779B97F4A7C15ULL;

std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

// Tags keep the streams of different uses apart when seed and counters are equal.
constexpr std::uint64_t order_tag = 1;
constexpr std::uint64_t rank_tag = 2;

}  // namespace

std::uint64_t random_at(std::uint64_t key, std::uint64_t counter) {
  return mixed(mixed(key + golden_gamma) + (counter + 1) * golden_gamma);
}

std::uint64_t rank_seed(std::uint64_t seed, std::uint64_t step, Rank rank) {
  return random_at(random_at(random_at(seed, rank_tag), step), rank);
}

std::vector<std::uint32_t> permutation(std::uint64_t seed, std::uint64_t epoch,
                                       std::uint32_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  const std::uint64_t key = random_at(random_at(seed, order_tag), epoch);
  for (std::uint32_t left = size; left > 1; --left) {
    // 64 random bits over at most 2^32 places: the bias is below 2^-32.
    std::swap(order[left - 1], order[random_at(key, left) % left]);
  }
  return order;
}

Result<Sampler> Sampler::make(std::uint64_t seed, std::size_t samples, Rank ranks,
                              std::uint32_t batch) {
  const std::uint64_t per_step = std::uint64_t{ranks} * batch;
  if (per_step == 0) {
    return fail(ErrorCode::invalid_argument, "ranks and batch must be at least 1");
  }
  if (samples > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::invalid_argument, "a training set of " + std::to_string(samples) +
                                                 " samples is larger than 4294967295");
  }
  if (samples < per_step) {
    return fail(ErrorCode::invalid_argument,
                "one step takes " + std::to_string(per_step) +
                    " samples (ranks x batch x accumulate), and the training set has " +
                    std::to_string(samples) + ": lower ranks or batch");
  }
  Sampler sampler;
  sampler.seed_ = seed;
  sampler.samples_ = static_cast<std::uint32_t>(samples);
  sampler.ranks_ = ranks;
  sampler.batch_ = batch;
  sampler.steps_per_epoch_ = samples / per_step;
  return sampler;
}

std::vector<std::uint32_t> Sampler::batch(std::uint64_t step, Rank rank) {
  const std::uint64_t epoch = step / steps_per_epoch_;
  if (epoch != epoch_) {
    order_ = permutation(seed_, epoch, samples_);
    epoch_ = epoch;
  }
  const std::uint64_t at = ((step % steps_per_epoch_) * ranks_ + rank) * batch_;
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(at);
  return {first, first + batch_};
}

}  // namespace troupe::easyscale
