// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/reduction.hpp"
#include "gpu/easyscale/job/view.hpp"
#include "gpu/easyscale/job/vrank_tree.hpp"
#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace troupe::easyscale {

enum class PieceKind : std::uint8_t {
  partial,   ///< a sender's sum of some ranks, for the elements that the receiver owns
  shard,     ///< the finished elements that the sender owns
  buffers,   ///< the model's buffers as rank 0 left them
  contexts,  ///< what the sender's ranks keep for their next step, in rank order
  scale,     ///< how large the numbers of the sender's ranks are: Share::Kind::scale
};

/// What members send each other within a step. Numbers are in host order.
struct Piece {
  PieceKind kind = PieceKind::partial;
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  Member from = 0;
  NodeKey node;  ///< of a partial
  Slice bytes;
};

struct Send {
  Member to = 0;
  Piece piece;
};

/// What one input led to.
struct Outcome {
  std::vector<Send> send;
  std::vector<Error> rejected;  ///< pieces that make no sense; they changed nothing
};

/// Numbers that all members of a job agree on.
struct ExchangeShape {
  Rank ranks = 1;
  std::uint32_t group = 1;   ///< how many members there can be
  std::size_t gradient = 0;  ///< elements of the flat gradient
  std::size_t buffers = 0;   ///< bytes of the model's buffers
  std::size_t context = 0;   ///< bytes that each rank keeps for its next step
  Reducer reducer = Reducer::tree;
};

/// One step's all-reduce as a pure state machine. The gradient is cut into one shard per member of
/// the view: every member sends its partial sums to the shards' owners, an owner completes the
/// sum, divides by the number of ranks and sends the finished shard to all; how sums are made is
/// for the Reduction to know. Owned by one trainer, which carries pieces by whatever network it has
/// and calls it from its own thread.
class StepExchange {
 public:
  StepExchange(ExchangeShape shape, Member self) : shape_(shape), self_(self) {}

  /// Starts a step of a view that `self` is in. Forgets what belonged to earlier ones, and takes in
  /// what faster peers have sent for it already.
  Outcome begin(const View& view, std::uint64_t step);
  /// Takes in the gradient of one own rank; in rank order.
  Result<void> add_rank(Rank rank, std::span<const float> gradient);
  /// Hands in what was added, which is all own ranks, and the ranks' contexts one after the other;
  /// `buffers` by whoever computes rank 0.
  Outcome contribute(std::optional<Slice> buffers, std::vector<std::byte> contexts);
  /// Takes in a peer's piece: of this step, or early (kept, up to a limit), or stale (dropped).
  Outcome receive(Piece piece);

  [[nodiscard]] bool done() const;
  /// What all members get, bit by bit the same; valid when done, until the next begin.
  [[nodiscard]] const std::vector<float>& gradient() const { return gradient_; }
  [[nodiscard]] std::vector<float> take_gradient() { return std::move(gradient_); }
  [[nodiscard]] const Slice& buffers() const { return *buffers_; }
  /// Of all ranks, in rank order.
  [[nodiscard]] std::vector<std::byte> take_contexts() { return std::move(contexts_); }

 private:
  [[nodiscard]] bool early(const Piece& piece) const;
  Result<void> keep(Piece piece);
  Result<void> take(const Piece& piece, Outcome& out);
  Result<void> take_share(const Piece& piece, std::size_t from, Outcome& out);
  Result<void> take_shard(const Piece& piece, std::size_t from);
  Result<void> take_buffers(const Piece& piece, std::size_t from);
  Result<void> take_contexts_of(std::size_t from, std::span<const std::byte> bytes);
  void send_shares(Shares shares, Outcome& out) const;
  void finish_own_shard(Outcome& out);
  void send_to_others(PieceKind kind, const Slice& bytes, Outcome& out) const;

  ExchangeShape shape_;
  Member self_;
  View view_;
  std::uint64_t step_ = 0;
  std::size_t slot_ = 0;
  Shards shards_;
  std::unique_ptr<Reduction> reduction_;
  std::vector<float> gradient_;
  std::vector<bool> have_;  // finished shards, by slot
  std::optional<Slice> buffers_;
  std::vector<std::byte> contexts_;  // of all ranks
  std::vector<bool> have_contexts_;  // by slot
  std::vector<Piece> early_;
};

}  // namespace troupe::easyscale
