// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/vrank_tree.hpp"

#include "tests/unit/gpu/easyscale/job/floats.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <random>

namespace troupe::easyscale {
namespace {

using test::awkward_floats;
using test::same_bits;

constexpr std::size_t length = 37;

// The definition, written down recursively: what a fold must give bit by bit.
std::vector<float> by_definition(Rank first, Rank width, Rank ranks) {
  if (width == 1) return awkward_floats(first, length);
  std::vector<float> left = by_definition(first, width / 2, ranks);
  if (first + width / 2 >= ranks) return left;
  const std::vector<float> right = by_definition(first + width / 2, width / 2, ranks);
  for (std::size_t i = 0; i < length; ++i) left[i] = left[i] + right[i];
  return left;
}

std::vector<float> expected_root(Rank ranks) {
  Rank width = 1;
  while (width < ranks) width *= 2;
  return by_definition(0, width, ranks);
}

BOOST_AUTO_TEST_CASE(every_order_and_every_split_gives_the_bits_of_the_definition) {
  std::mt19937 random(1);
  for (Rank ranks = 1; ranks <= 16; ++ranks) {
    const std::vector<float> expected = expected_root(ranks);
    for (int round = 0; round < 40; ++round) {
      std::vector<Rank> order(ranks);
      std::iota(order.begin(), order.end(), 0U);
      std::shuffle(order.begin(), order.end(), random);
      const std::size_t workers = 1 + random() % ranks;
      std::vector<TreeFold> folds(workers, TreeFold(ranks, length));
      for (const Rank rank : order) {  // not even contiguous ranges are needed
        BOOST_REQUIRE(folds[random() % workers].add({0, rank}, awkward_floats(rank, length)));
      }
      std::vector<Partial> partials;
      for (TreeFold& fold : folds) {
        for (Partial& partial : fold.take()) partials.push_back(std::move(partial));
      }
      std::shuffle(partials.begin(), partials.end(), random);
      TreeFold root(ranks, length);
      for (const Partial& partial : partials) {
        BOOST_TEST(!root.complete());
        BOOST_REQUIRE(root.add(partial.node, partial.values));
      }
      BOOST_REQUIRE(root.complete());
      BOOST_TEST(same_bits(root.take().front().values, expected), "ranks " << ranks);
    }
  }
}

BOOST_AUTO_TEST_CASE(adding_up_per_worker_first_would_give_other_bits) {
  const auto plain = [](std::vector<std::vector<Rank>> workers) {
    std::vector<float> total(length, 0.0F);
    for (const auto& ranks : workers) {
      std::vector<float> sum(length, 0.0F);
      for (const Rank rank : ranks) {
        const auto leaf = awkward_floats(rank, length);
        for (std::size_t i = 0; i < length; ++i) sum[i] += leaf[i];
      }
      for (std::size_t i = 0; i < length; ++i) total[i] += sum[i];
    }
    return total;
  };
  const auto two = plain({{0, 1, 2, 3}, {4, 5, 6, 7}});
  const auto three = plain({{0, 1, 2}, {3, 4, 5}, {6, 7}});
  BOOST_TEST(!same_bits(two, three));
}

BOOST_AUTO_TEST_CASE(a_refused_node_changes_nothing) {
  TreeFold fold(5, length);
  const auto values = awkward_floats(9, length);
  BOOST_TEST(!fold.add({0, 5}, values));
  BOOST_TEST(!fold.add({3, 1}, values));
  BOOST_TEST(!fold.add({40, 0}, values));
  BOOST_TEST(!fold.add({0, 0}, std::span(values).first(length - 1)));
  BOOST_REQUIRE(fold.add({1, 0}, values));
  const auto twice = fold.add({0, 1}, values);
  BOOST_REQUIRE(!twice);
  BOOST_TEST(twice.error().what == "tree node 0/1 would count rank 1 twice");
  BOOST_TEST(fold.take().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_node_without_a_sibling_is_promoted) {
  const VrankTree tree(5);
  BOOST_TEST((tree.root() == NodeKey{3, 0}));
  BOOST_TEST((tree.promoted({0, 4}) == NodeKey{2, 1}));
  BOOST_TEST((tree.leaves({2, 1}) == RankRange{4, 1}));
  BOOST_TEST((VrankTree(1).root() == NodeKey{0, 0}));
}

BOOST_AUTO_TEST_CASE(ranges_are_balanced_contiguous_and_need_few_nodes) {
  for (Rank ranks = 1; ranks <= 40; ++ranks) {
    for (std::uint32_t members = 1; members <= 44; ++members) {
      const auto ranges = assign_ranks(ranks, members);
      BOOST_REQUIRE(ranges.size() == members);
      Rank next = 0;
      for (const RankRange& range : ranges) {
        BOOST_REQUIRE(range.first == next);
        BOOST_REQUIRE(range.count >= ranks / members);
        BOOST_REQUIRE(range.count <= (ranks + members - 1) / members);
        next = range.end();
      }
      BOOST_REQUIRE(next == ranks);
    }
  }
  for (const RankRange& range : assign_ranks(64, 8)) {
    BOOST_TEST(VrankTree(64).cover(range).size() == 1U);
  }
  std::size_t most = 0;
  for (const RankRange& range : assign_ranks(128, 3)) {
    most = std::max(most, VrankTree(128).cover(range).size());
  }
  BOOST_TEST(most <= 6U);
}

BOOST_AUTO_TEST_CASE(a_fold_holds_the_cover_of_a_range_and_no_more) {
  for (const Rank ranks : {7U, 8U, 13U}) {
    for (std::uint32_t members = 1; members <= ranks; ++members) {
      for (const RankRange& range : assign_ranks(ranks, members)) {
        TreeFold fold(ranks, length);
        for (Rank rank = range.first; rank < range.end(); ++rank) {
          BOOST_REQUIRE(fold.add({0, rank}, awkward_floats(rank, length)));
        }
        std::vector<NodeKey> held;
        for (const Partial& partial : fold.take()) held.push_back(partial.node);
        auto cover = VrankTree(ranks).cover(range);
        std::sort(cover.begin(), cover.end());
        BOOST_TEST((held == cover));
      }
    }
  }
}

}  // namespace
}  // namespace troupe::easyscale
