// SPDX-License-Identifier: Apache-2.0
// Reduction whose bits do not depend on who computes: a fixed binary tree over virtual ranks, added
// element by element. The EasyScale paper (arXiv 2208.14228, section 3.3) fixes the communication
// ranks and the bucket map of a ring instead; a tree over leaves needs neither, because chunking,
// world size and order of arrival never change which two numbers are added.
#include "gpu/easyscale/job/vrank_tree.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace troupe::easyscale {
namespace {

std::string name(NodeKey node) {
  return "tree node " + std::to_string(node.level) + "/" + std::to_string(node.index);
}

NodeKey parent(NodeKey key) { return {key.level + 1, key.index / 2}; }
NodeKey sibling(NodeKey key) { return {key.level, key.index ^ 1U}; }

}  // namespace

VrankTree::VrankTree(Rank ranks) : ranks_(std::max<Rank>(ranks, 1)) {
  height_ = static_cast<std::uint32_t>(std::bit_width(ranks_ - 1U));
}

bool VrankTree::contains(NodeKey key) const {
  return key.level <= height_ && (std::uint64_t{key.index} << key.level) < ranks_;
}

RankRange VrankTree::leaves(NodeKey key) const {
  const std::uint64_t first = std::uint64_t{key.index} << key.level;
  const std::uint64_t end = std::min<std::uint64_t>(first + (1ULL << key.level), ranks_);
  return {static_cast<Rank>(first), static_cast<Rank>(end - first)};
}

NodeKey VrankTree::promoted(NodeKey key) const {
  while (key.level < height_ && key.index % 2 == 0 && !contains(sibling(key))) key = parent(key);
  return key;
}

std::vector<NodeKey> VrankTree::cover(RankRange range) const {
  std::vector<NodeKey> nodes;
  for (Rank at = range.first; at < range.end();) {
    NodeKey node = promoted({0, at});
    while (node.level < height_ && node.index % 2 == 0) {
      const NodeKey up = promoted(parent(node));
      if (leaves(up).end() > range.end()) break;
      node = up;
    }
    nodes.push_back(node);
    at = leaves(node).end();
  }
  return nodes;
}

TreeFold::TreeFold(Rank ranks, std::size_t length)
    : tree_(ranks), length_(length), counted_(tree_.ranks(), false) {}

Result<void> TreeFold::check(NodeKey node, std::size_t length) const {
  if (!tree_.contains(node)) {
    return fail(ErrorCode::corrupt,
                name(node) + " is not in a tree over " + std::to_string(tree_.ranks()) + " ranks");
  }
  if (length != length_) {
    return fail(ErrorCode::corrupt, name(node) + " has " + std::to_string(length) +
                                        " elements instead of " + std::to_string(length_));
  }
  const RankRange range = tree_.leaves(node);
  for (Rank rank = range.first; rank < range.end(); ++rank) {
    if (counted_[rank]) {
      return fail(ErrorCode::already_exists,
                  name(node) + " would count rank " + std::to_string(rank) + " twice");
    }
  }
  return {};
}

Result<void> TreeFold::add(NodeKey node, std::span<const float> values) {
  if (auto ok = check(node, values.size()); !ok) return ok;
  const RankRange range = tree_.leaves(node);
  std::fill_n(counted_.begin() + range.first, range.count, true);
  std::vector<float> sum;
  bool merged = false;
  node = tree_.promoted(node);
  for (auto other = held_.find(sibling(node)); other != held_.end();
       other = held_.find(sibling(node))) {
    std::vector<float> buffer = std::move(other->second);
    held_.erase(other);
    const std::span<const float> mine = merged ? std::span<const float>(sum) : values;
    if (node.index % 2 == 0) {
      for (std::size_t i = 0; i < length_; ++i) buffer[i] = mine[i] + buffer[i];
    } else {
      for (std::size_t i = 0; i < length_; ++i) buffer[i] = buffer[i] + mine[i];
    }
    sum = std::move(buffer);
    merged = true;
    node = tree_.promoted(parent(node));
  }
  if (!merged) sum.assign(values.begin(), values.end());
  held_.emplace(node, std::move(sum));
  return {};
}

bool TreeFold::complete() const { return held_.contains(tree_.root()); }

std::vector<Partial> TreeFold::take() {
  std::vector<Partial> out;
  for (auto& [node, values] : held_) out.push_back({node, std::move(values)});
  held_.clear();
  std::fill(counted_.begin(), counted_.end(), false);
  return out;
}

std::vector<RankRange> assign_ranks(Rank ranks, std::uint32_t members) {
  if (members == 0) return {};
  const VrankTree tree(ranks);
  const Rank small = ranks / members;
  const std::uint32_t larger = ranks % members;  // so many members get one more
  // cost[i][j]: nodes needed by members i.. when j of the members before i got one more.
  constexpr std::size_t never = SIZE_MAX / 2;
  std::vector<std::vector<std::size_t>> cost(members + 1,
                                             std::vector<std::size_t>(larger + 1, never));
  cost[members][larger] = 0;
  const auto with = [&](std::uint32_t i, std::uint32_t j, std::uint32_t more) {
    if (j + more > larger) return never;
    const RankRange range{i * small + j, small + more};
    return tree.cover(range).size() + cost[i + 1][j + more];
  };
  for (std::uint32_t i = members; i-- > 0;) {
    for (std::uint32_t j = 0; j <= std::min(i, larger); ++j) {
      cost[i][j] = std::min({with(i, j, 1), with(i, j, 0), never});
    }
  }
  std::vector<RankRange> out;
  std::uint32_t given = 0;
  for (std::uint32_t i = 0; i < members; ++i) {
    const std::uint32_t more = with(i, given, 1) <= with(i, given, 0) ? 1 : 0;
    out.push_back({i * small + given, small + more});
    given += more;
  }
  return out;
}

}  // namespace troupe::easyscale
