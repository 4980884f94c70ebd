// SPDX-License-Identifier: Apache-2.0
// What everybody else does: each member adds up its ranks one after the other and sends one sum;
// the owner of a shard adds up those sums in the members' order. The least work and memory, and the
// same bits only for the same assignment of ranks.
#include "gpu/easyscale/job/reduction.hpp"

namespace troupe::easyscale {
namespace {

class ChainReduction : public Reduction {
 public:
  explicit ChainReduction(ReductionShape shape)
      : shape_(std::move(shape)), parts_(shape_.shards.members) {}

  Result<void> add_rank(Rank /*rank*/, std::span<const float> gradient) override {
    if (own_.empty()) {
      own_.assign(gradient.begin(), gradient.end());
    } else {
      for (std::size_t i = 0; i < own_.size(); ++i) own_[i] += gradient[i];
    }
    return {};
  }

  Shares hand_in() override {
    Shares out;
    if (own_.empty()) return out;
    const auto own = std::make_shared<const std::vector<float>>(std::move(own_));
    for (std::size_t slot = 0; slot < shape_.shards.members; ++slot) {
      const auto part =
          std::span(*own).subspan(shape_.shards.begin(slot), shape_.shards.length(slot));
      const Slice bytes(own, std::as_bytes(part));
      if (slot == shape_.slot) {
        parts_[slot] = bytes;
      } else {
        out.push_back({Share::Kind::partial, slot, {}, bytes});
      }
    }
    return out;
  }

  Result<Shares> take(const Share& share) override {
    if (share.kind != Share::Kind::partial) {
      return fail(ErrorCode::corrupt, "a scale, which a chain has no use for");
    }
    const std::size_t length = shape_.shards.length(shape_.slot);
    if (auto ok = check_partial(share.bytes, sizeof(float), length); !ok) {
      return Failure(ok.error());
    }
    if (parts_[share.slot]) return fail(ErrorCode::already_exists, "a partial sum came twice");
    if (shape_.ranges[share.slot].count == 0) {
      return fail(ErrorCode::corrupt, "a partial sum over no ranks");
    }
    parts_[share.slot] = share.bytes;
    return Shares{};
  }

  std::optional<std::vector<float>> finish() override {
    if (finished_) return std::nullopt;
    for (std::size_t slot = 0; slot < parts_.size(); ++slot) {
      if (shape_.ranges[slot].count > 0 && !parts_[slot]) return std::nullopt;
    }
    finished_ = true;
    std::vector<float> mean(shape_.shards.length(shape_.slot), 0.0F);
    bool first = true;
    for (auto& part : parts_) {
      if (!part) continue;
      const Numbers<float> numbers(part->bytes());
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] = first ? numbers.view()[i] : mean[i] + numbers.view()[i];
      }
      first = false;
      part.reset();
    }
    for (float& value : mean) value /= static_cast<float>(shape_.ranks);
    return mean;
  }

 private:
  ReductionShape shape_;
  std::vector<float> own_;
  std::vector<std::optional<Slice>> parts_;  // of the own shard, by slot
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Reduction> make_chain_reduction(ReductionShape shape) {
  return std::make_unique<ChainReduction>(std::move(shape));
}

}  // namespace troupe::easyscale
