// SPDX-License-Identifier: Apache-2.0
// The default: a member sends the sums that its ranks' part of the tree allows, the owner of a
// shard completes the tree.
#include "gpu/easyscale/job/reduction.hpp"

namespace troupe::easyscale {
namespace {

class TreeReduction : public Reduction {
 public:
  explicit TreeReduction(ReductionShape shape)
      : shape_(std::move(shape)),
        own_(shape_.ranks, shape_.shards.gradient),
        fold_(shape_.ranks, shape_.shards.length(shape_.slot)) {}

  Result<void> add_rank(Rank rank, std::span<const float> gradient) override {
    return own_.add({0, rank}, gradient);
  }

  Shares hand_in() override {
    Shares out;
    for (Partial& partial : own_.take()) {
      const auto values = std::make_shared<const std::vector<float>>(std::move(partial.values));
      for (std::size_t slot = 0; slot < shape_.shards.members; ++slot) {
        const auto part =
            std::span(*values).subspan(shape_.shards.begin(slot), shape_.shards.length(slot));
        if (slot == shape_.slot) {
          static_cast<void>(fold_.add(partial.node, part));  // take() lets nobody else have them
        } else {
          out.push_back(
              {Share::Kind::partial, slot, partial.node, Slice(values, std::as_bytes(part))});
        }
      }
    }
    return out;
  }

  Result<Shares> take(const Share& share) override {
    if (share.kind != Share::Kind::partial) {
      return fail(ErrorCode::corrupt, "a scale, which a tree has no use for");
    }
    const VrankTree tree(shape_.ranks);
    const RankRange own = shape_.ranges[share.slot];
    if (!tree.contains(share.node) || tree.leaves(share.node).first < own.first ||
        tree.leaves(share.node).end() > own.end()) {
      return fail(ErrorCode::corrupt, "a tree node over ranks that the sender does not compute");
    }
    const std::size_t length = shape_.shards.length(shape_.slot);
    if (auto ok = check_partial(share.bytes, sizeof(float), length); !ok) {
      return Failure(ok.error());
    }
    if (finished_) return fail(ErrorCode::already_exists, "the shard is complete already");
    if (auto ok = fold_.add(share.node, Numbers<float>(share.bytes.bytes()).view()); !ok) {
      return Failure(ok.error());
    }
    return Shares{};
  }

  std::optional<std::vector<float>> finish() override {
    if (finished_ || !fold_.complete()) return std::nullopt;
    finished_ = true;
    std::vector<float> mean = std::move(fold_.take().front().values);
    const auto ranks = static_cast<float>(shape_.ranks);
    for (float& value : mean) value /= ranks;
    return mean;
  }

 private:
  ReductionShape shape_;
  TreeFold own_;
  TreeFold fold_;  // of the own shard
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Reduction> make_tree_reduction(ReductionShape shape) {
  return std::make_unique<TreeReduction>(std::move(shape));
}

}  // namespace troupe::easyscale
