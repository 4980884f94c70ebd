// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace troupe::easyscale {

/// A virtual rank: one of the workers that a job's result corresponds to, whoever computes it.
using Rank = std::uint32_t;

/// Consecutive virtual ranks.
struct RankRange {
  Rank first = 0;
  Rank count = 0;

  [[nodiscard]] Rank end() const { return first + count; }
  friend bool operator==(const RankRange&, const RankRange&) = default;
};

/// A node of the reduction tree: level 0 holds the leaves (one per rank), node {l, i} covers ranks
/// i * 2^l up to (i + 1) * 2^l as far as they exist.
struct NodeKey {
  std::uint32_t level = 0;
  std::uint32_t index = 0;

  friend auto operator<=>(const NodeKey&, const NodeKey&) = default;
};

/// The shape of the reduction tree over a number of ranks (at least 1). A node whose right child is
/// absent is its left child: nothing is added to it, so it has the same value under both names.
class VrankTree {
 public:
  explicit VrankTree(Rank ranks);

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] NodeKey root() const { return {height_, 0}; }
  [[nodiscard]] bool contains(NodeKey key) const;
  /// The ranks below a node that the tree contains.
  [[nodiscard]] RankRange leaves(NodeKey key) const;
  /// The highest node of the same value.
  [[nodiscard]] NodeKey promoted(NodeKey key) const;
  /// The fewest nodes that cover a range exactly.
  [[nodiscard]] std::vector<NodeKey> cover(RankRange range) const;

 private:
  Rank ranks_;
  std::uint32_t height_ = 0;
};

/// The sum of some leaves: the value of one node.
struct Partial {
  NodeKey node;
  std::vector<float> values;

  friend bool operator==(const Partial&, const Partial&) = default;
};

/// Sums leaves and partial sums that arrive in any order. Two siblings are merged, always as left +
/// right, as soon as both are there, so the bits of the root depend on the leaves alone, and the
/// buffers held at any time are the nodes that cover what has arrived (at most about 2 log2 of the
/// ranks for a contiguous range). A value; owned by whoever sums; not for concurrent use.
class TreeFold {
 public:
  /// `length` elements per node.
  TreeFold(Rank ranks, std::size_t length);

  /// Takes one node's values; refuses a node outside the tree, a wrong length, and ranks that have
  /// been counted already. A refused node changes nothing.
  Result<void> add(NodeKey node, std::span<const float> values);

  [[nodiscard]] bool complete() const;
  /// Hands out what is held, lowest node first, and starts again empty.
  [[nodiscard]] std::vector<Partial> take();

 private:
  Result<void> check(NodeKey node, std::size_t length) const;

  VrankTree tree_;
  std::size_t length_;
  std::map<NodeKey, std::vector<float>> held_;
  std::vector<bool> counted_;  // by rank
};

/// Splits the ranks among `members` in consecutive ranges whose sizes differ by at most one, cut
/// where the ranges are covered by the fewest nodes (what a member sends). Surplus members get
/// nothing.
[[nodiscard]] std::vector<RankRange> assign_ranks(Rank ranks, std::uint32_t members);

}  // namespace troupe::easyscale
