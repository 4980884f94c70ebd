// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter and all-gather. Each message says to which view, step and
// tree node it belongs, so the order of arrival is free: members start a step when they are ready
// for it, and what arrives before that waits in `early_`. A peer can be one step ahead within a
// view (the step after that needs our own part) or in a newer view; older views cannot matter any
// more.
#include "gpu/easyscale/job/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace troupe::easyscale {
namespace {

Error about(const Piece& piece, const Error& why) {
  return {why.code, "step " + std::to_string(piece.step) + ", from trainer " +
                        std::to_string(piece.from) + ": " + why.what};
}

}  // namespace

Outcome StepExchange::begin(const View& view, std::uint64_t step) {
  view_ = view;
  step_ = step;
  slot_ = view.slot_of(self_).value_or(0);
  shards_ = {shape_.gradient, view.members.size()};
  reduction_ = make_reduction(shape_.reducer, view, slot_, shape_.ranks, shape_.gradient);
  gradient_.assign(shape_.gradient, 0.0F);
  have_.assign(view.members.size(), false);
  buffers_.reset();
  contexts_.assign(shape_.ranks * shape_.context, std::byte{0});
  have_contexts_.clear();
  for (const RankRange& range : view.ranges) {
    have_contexts_.push_back(shape_.context == 0 || range.count == 0);
  }
  Outcome out;
  for (Piece& piece : std::exchange(early_, {})) {
    Outcome one = receive(std::move(piece));
    std::move(one.send.begin(), one.send.end(), std::back_inserter(out.send));
    std::move(one.rejected.begin(), one.rejected.end(), std::back_inserter(out.rejected));
  }
  return out;
}

Result<void> StepExchange::add_rank(Rank rank, std::span<const float> gradient) {
  const RankRange own = view_.ranges[slot_];
  if (rank < own.first || rank >= own.end() || gradient.size() != shape_.gradient) {
    return fail(ErrorCode::internal, "a gradient of another rank or model");
  }
  return reduction_->add_rank(rank, gradient);
}

Outcome StepExchange::contribute(std::optional<Slice> buffers, std::vector<std::byte> contexts) {
  Outcome out;
  send_shares(reduction_->hand_in(), out);
  if (buffers && !buffers_) {
    send_to_others(PieceKind::buffers, *buffers, out);
    buffers_ = std::move(buffers);
  }
  if (!have_contexts_[slot_]) {
    if (auto ok = take_contexts_of(slot_, contexts); !ok) {
      out.rejected.push_back(ok.error());
    } else {
      send_to_others(PieceKind::contexts, Slice::own(std::move(contexts)), out);
    }
  }
  finish_own_shard(out);
  return out;
}

bool StepExchange::early(const Piece& piece) const {
  return piece.generation > view_.generation ||
         (piece.generation == view_.generation && piece.step == step_ + 1);
}

Outcome StepExchange::receive(Piece piece) {
  Outcome out;
  const bool now = piece.generation == view_.generation && piece.step == step_;
  if (view_.generation != 0 && now) {
    if (auto ok = take(piece, out); !ok) out.rejected.push_back(about(piece, ok.error()));
  } else if (early(piece)) {
    Piece blank = piece;
    blank.bytes = {};
    if (auto ok = keep(std::move(piece)); !ok) out.rejected.push_back(about(blank, ok.error()));
  }
  return out;
}

Result<void> StepExchange::keep(Piece piece) {
  // Two steps' worth: one of this view, one of the next. A newer view makes older ones pointless.
  const std::size_t limit = 2 * (std::size_t{shape_.ranks} + 3 * shape_.group + 1);
  const std::size_t longest = std::max(
      {shape_.gradient * sizeof(std::int64_t), shape_.buffers, shape_.ranks * shape_.context});
  if (piece.bytes.size() > longest) {
    return fail(ErrorCode::corrupt, "a piece longer than the whole model");
  }
  if (early_.size() >= limit) {
    std::erase_if(early_, [&](const Piece& old) { return old.generation < piece.generation; });
  }
  if (early_.size() >= limit) {
    return fail(ErrorCode::resource_exhausted, "too many pieces ahead of their step");
  }
  early_.push_back(std::move(piece));
  return {};
}

Result<void> StepExchange::take(const Piece& piece, Outcome& out) {
  const auto from = view_.slot_of(piece.from);
  if (!from || *from == slot_) {
    return fail(ErrorCode::corrupt,
                "the sender is no other member of view " + std::to_string(view_.generation));
  }
  switch (piece.kind) {
    case PieceKind::partial:
    case PieceKind::scale:
      return take_share(piece, *from, out);
    case PieceKind::shard:
      return take_shard(piece, *from);
    case PieceKind::buffers:
      return take_buffers(piece, *from);
    case PieceKind::contexts:
      return take_contexts_of(*from, piece.bytes.bytes());
  }
  return fail(ErrorCode::corrupt, "a piece of unknown kind");
}

Result<void> StepExchange::take_share(const Piece& piece, std::size_t from, Outcome& out) {
  const auto kind = piece.kind == PieceKind::scale ? Share::Kind::scale : Share::Kind::partial;
  auto shares = reduction_->take({kind, from, piece.node, piece.bytes});
  if (!shares) return Failure(shares.error());
  send_shares(std::move(*shares), out);
  finish_own_shard(out);
  return {};
}

void StepExchange::send_shares(Shares shares, Outcome& out) const {
  for (Share& share : shares) {
    const auto kind = share.kind == Share::Kind::scale ? PieceKind::scale : PieceKind::partial;
    out.send.push_back(
        {view_.members[share.slot],
         {kind, view_.generation, step_, self_, share.node, std::move(share.bytes)}});
  }
}

Result<void> StepExchange::take_shard(const Piece& piece, std::size_t from) {
  if (piece.bytes.size() != shards_.length(from) * sizeof(float)) {
    return fail(ErrorCode::corrupt, "a finished shard of " + std::to_string(piece.bytes.size()) +
                                        " bytes instead of " +
                                        std::to_string(shards_.length(from) * sizeof(float)));
  }
  if (have_[from]) return fail(ErrorCode::already_exists, "a finished shard came twice");
  if (!piece.bytes.empty()) {
    std::memcpy(gradient_.data() + shards_.begin(from), piece.bytes.data(), piece.bytes.size());
  }
  have_[from] = true;
  return {};
}

Result<void> StepExchange::take_buffers(const Piece& piece, std::size_t from) {
  const RankRange own = view_.ranges[from];
  if (own.count == 0 || own.first != 0) {
    return fail(ErrorCode::corrupt, "buffers from a trainer that does not compute rank 0");
  }
  if (piece.bytes.size() != shape_.buffers) {
    return fail(ErrorCode::corrupt, "buffers of " + std::to_string(piece.bytes.size()) +
                                        " bytes instead of " + std::to_string(shape_.buffers));
  }
  if (buffers_) return fail(ErrorCode::already_exists, "the buffers came twice");
  buffers_ = piece.bytes;
  return {};
}

Result<void> StepExchange::take_contexts_of(std::size_t from, std::span<const std::byte> bytes) {
  const RankRange own = view_.ranges[from];
  if (have_contexts_[from]) return fail(ErrorCode::already_exists, "the contexts came twice");
  if (bytes.size() != own.count * shape_.context) {
    return fail(ErrorCode::corrupt, "contexts of " + std::to_string(bytes.size()) +
                                        " bytes instead of " +
                                        std::to_string(own.count * shape_.context));
  }
  std::copy(bytes.begin(), bytes.end(),
            contexts_.begin() + static_cast<std::ptrdiff_t>(own.first * shape_.context));
  have_contexts_[from] = true;
  return {};
}

void StepExchange::finish_own_shard(Outcome& out) {
  auto values = reduction_->finish();
  if (!values) return;
  std::copy(values->begin(), values->end(),
            gradient_.begin() + static_cast<std::ptrdiff_t>(shards_.begin(slot_)));
  have_[slot_] = true;
  send_to_others(PieceKind::shard, Slice::own(std::move(*values)), out);
}

void StepExchange::send_to_others(PieceKind kind, const Slice& bytes, Outcome& out) const {
  for (const Member member : view_.members) {
    if (member == self_) continue;
    out.send.push_back({member, {kind, view_.generation, step_, self_, {}, bytes}});
  }
}

bool StepExchange::done() const {
  return view_.generation != 0 && buffers_.has_value() &&
         std::find(have_.begin(), have_.end(), false) == have_.end() &&
         std::find(have_contexts_.begin(), have_contexts_.end(), false) == have_contexts_.end();
}

}  // namespace troupe::easyscale
