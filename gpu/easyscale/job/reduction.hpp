// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/view.hpp"
#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::easyscale {

/// How the gradients of all ranks become one.
enum class Reducer : std::uint8_t {
  tree,   ///< a fixed binary tree over ranks: the same bits whoever computes what
  int64,  ///< integers of a common exponent, whose sum has no order: the same bits likewise
  chain,  ///< each member adds up its ranks: the bits depend on who computes what
};

[[nodiscard]] std::string to_string(Reducer reducer);

/// How a gradient is cut into one shard for each member of a view.
struct Shards {
  std::size_t gradient = 0;  ///< elements
  std::size_t members = 1;

  [[nodiscard]] std::size_t begin(std::size_t slot) const { return gradient * slot / members; }
  [[nodiscard]] std::size_t length(std::size_t slot) const { return begin(slot + 1) - begin(slot); }
};

/// What one member says to another while gradients are summed.
struct Share {
  enum class Kind : std::uint8_t {
    partial,  ///< of the elements that the receiver owns
    scale,    ///< how large the sender's numbers are
  };
  Kind kind = Kind::partial;
  std::size_t slot = 0;  ///< to whom when it is sent, from whom when it is taken
  NodeKey node;          ///< of a partial, where the reducer has a tree
  Slice bytes;
};
using Shares = std::vector<Share>;

/// The arithmetic of one step's all-reduce at one member: what it sends of its own ranks, and the
/// mean over all ranks of the shard that it owns. Pure; owned by a StepExchange. What is refused
/// changes nothing.
class Reduction {
 public:
  Reduction() = default;
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;
  virtual ~Reduction() = default;

  /// Takes in the gradient of one of the own ranks; in rank order.
  virtual Result<void> add_rank(Rank rank, std::span<const float> gradient) = 0;
  /// All own ranks are in: what is to be sent now.
  [[nodiscard]] virtual Shares hand_in() = 0;
  /// Takes in what another member has sent; gives what is to be sent because of it.
  virtual Result<Shares> take(const Share& share) = 0;
  /// The finished shard, as soon as it is there, once.
  [[nodiscard]] virtual std::optional<std::vector<float>> finish() = 0;
};

/// For the member in `slot` of a view over all `ranks`, whose gradients have `length` elements.
[[nodiscard]] std::unique_ptr<Reduction> make_reduction(Reducer reducer, const View& view,
                                                        std::size_t slot, Rank ranks,
                                                        std::size_t length);

// One for each Reducer; `make_reduction` chooses.
struct ReductionShape {
  std::vector<RankRange> ranges;  ///< of each member
  std::size_t slot = 0;
  Rank ranks = 1;
  Shards shards;
};
[[nodiscard]] std::unique_ptr<Reduction> make_tree_reduction(ReductionShape shape);
[[nodiscard]] std::unique_ptr<Reduction> make_int64_reduction(ReductionShape shape);
[[nodiscard]] std::unique_ptr<Reduction> make_chain_reduction(ReductionShape shape);

/// A received payload as numbers; copies only where the transport left it misaligned.
template <class Number>
class Numbers {
 public:
  explicit Numbers(std::span<const std::byte> bytes);
  [[nodiscard]] std::span<const Number> view() const { return view_; }

 private:
  std::vector<Number> copy_;
  std::span<const Number> view_;
};

/// Refuses a partial whose size is not that of `length` elements.
[[nodiscard]] Result<void> check_partial(const Slice& bytes, std::size_t element,
                                         std::size_t length);

}  // namespace troupe::easyscale
