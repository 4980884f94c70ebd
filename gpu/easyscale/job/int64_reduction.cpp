// SPDX-License-Identifier: Apache-2.0
// Sums that have no order at all, for networks that choose their own: members first tell each other
// the largest magnitude among their ranks' numbers. With the largest of all known, every number
// becomes an integer multiple of one power of two, small enough that the sum over all ranks cannot
// overflow. Integers are then added in whatever order. Against the tree: twice the bytes and one
// more round of messages; a member has to keep its ranks' gradients until the exponent is known.
//
// A number becomes q = round(g * 2^s) with s such that |q| <= 2^(62 - b), b = ceil(log2(ranks)). A
// float has 24 significant bits, so with up to 4096 ranks nothing is rounded that is larger than
// 2^-26 of the largest number, and what is rounded errs by less than 2^-50 of it.
#include "gpu/easyscale/job/reduction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace troupe::easyscale {
namespace {

constexpr std::uint32_t infinite = 0x7F800000U;  // the bits of infinity; of NaNs more

// The bits of the largest magnitude: they compare as the magnitudes do.
std::uint32_t largest(std::span<const float> numbers) {
  std::uint32_t most = 0;
  for (const float one : numbers) most = std::max(most, std::bit_cast<std::uint32_t>(one) << 1U);
  return most >> 1U;
}

class Int64Reduction : public Reduction {
 public:
  explicit Int64Reduction(ReductionShape shape)
      : shape_(std::move(shape)),
        scale_in_(shape_.shards.members, false),
        sum_in_(shape_.shards.members, false),
        sum_(shape_.shards.length(shape_.slot), 0) {
    for (std::size_t slot = 0; slot < scale_in_.size(); ++slot) {
      if (shape_.ranges[slot].count == 0) scale_in_[slot] = sum_in_[slot] = true;
    }
  }

  Result<void> add_rank(Rank /*rank*/, std::span<const float> gradient) override {
    gradients_.emplace_back(gradient.begin(), gradient.end());
    largest_ = std::max(largest_, largest(gradient));
    return {};
  }

  Shares hand_in() override {
    handed_in_ = true;
    scale_in_[shape_.slot] = true;
    Shares out;
    if (!gradients_.empty()) {
      const auto bits = Slice::own(std::vector<std::uint32_t>{largest_});
      for (std::size_t slot = 0; slot < shape_.shards.members; ++slot) {
        if (slot != shape_.slot) out.push_back({Share::Kind::scale, slot, {}, bits});
      }
    }
    send_sums(out);
    return out;
  }

  Result<Shares> take(const Share& share) override {
    Shares out;
    if (share.kind == Share::Kind::scale) {
      if (share.bytes.size() != sizeof(std::uint32_t)) {
        return fail(ErrorCode::corrupt,
                    "a scale of " + std::to_string(share.bytes.size()) + " bytes instead of 4");
      }
      if (scale_in_[share.slot]) return fail(ErrorCode::already_exists, "a scale came twice");
      scale_in_[share.slot] = true;
      largest_ = std::max(largest_, Numbers<std::uint32_t>(share.bytes.bytes()).view().front());
      send_sums(out);
      return out;
    }
    if (auto ok = check_partial(share.bytes, sizeof(std::int64_t), sum_.size()); !ok) {
      return Failure(ok.error());
    }
    if (sum_in_[share.slot]) return fail(ErrorCode::already_exists, "a partial sum came twice");
    sum_in_[share.slot] = true;
    add(Numbers<std::int64_t>(share.bytes.bytes()).view());
    return out;
  }

  std::optional<std::vector<float>> finish() override {
    if (finished_ || !sent_ || std::find(sum_in_.begin(), sum_in_.end(), false) != sum_in_.end()) {
      return std::nullopt;
    }
    finished_ = true;
    std::vector<float> mean(sum_.size(), std::numeric_limits<float>::quiet_NaN());
    if (largest_ >= infinite) return mean;  // no number can tell what it would be
    const double unit = std::ldexp(1.0, -shift());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      mean[i] = static_cast<float>(static_cast<double>(sum_[i]) * unit / shape_.ranks);
    }
    return mean;
  }

 private:
  // Two's complement wraps, so even hostile sums are defined.
  void add(std::span<const std::int64_t> part) {
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      sum_[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum_[i]) +
                                          static_cast<std::uint64_t>(part[i]));
    }
  }

  [[nodiscard]] int shift() const {
    if (largest_ == 0) return 0;
    const int exponent = std::ilogb(std::bit_cast<float>(largest_)) + 1;  // all are below 2^it
    return 62 - static_cast<int>(std::bit_width(shape_.ranks - 1U)) - exponent;
  }

  // As soon as all scales are in: the sums over the own ranks, one for each shard.
  void send_sums(Shares& out) {
    if (sent_ || !handed_in_ ||
        std::find(scale_in_.begin(), scale_in_.end(), false) != scale_in_.end()) {
      return;
    }
    sent_ = true;
    if (gradients_.empty()) return;
    auto sums = std::make_shared<std::vector<std::int64_t>>(shape_.shards.gradient, 0);
    if (largest_ < infinite) {
      const double scale = std::ldexp(1.0, shift());
      for (const auto& gradient : gradients_) {
        for (std::size_t i = 0; i < gradient.size(); ++i) {
          (*sums)[i] += std::llrint(static_cast<double>(gradient[i]) * scale);
        }
      }
    }
    gradients_.clear();
    for (std::size_t slot = 0; slot < shape_.shards.members; ++slot) {
      const auto part = std::span<const std::int64_t>(*sums).subspan(shape_.shards.begin(slot),
                                                                     shape_.shards.length(slot));
      if (slot == shape_.slot) {
        add(part);
        sum_in_[slot] = true;
      } else {
        out.push_back({Share::Kind::partial, slot, {}, Slice(sums, std::as_bytes(part))});
      }
    }
  }

  ReductionShape shape_;
  std::vector<std::vector<float>> gradients_;  // of the own ranks
  std::uint32_t largest_ = 0;                  // bits of the largest magnitude that is known of
  std::vector<bool> scale_in_;                 // by slot
  std::vector<bool> sum_in_;                   // by slot
  std::vector<std::int64_t> sum_;              // of the own shard
  bool handed_in_ = false;
  bool sent_ = false;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Reduction> make_int64_reduction(ReductionShape shape) {
  return std::make_unique<Int64Reduction>(std::move(shape));
}

}  // namespace troupe::easyscale
