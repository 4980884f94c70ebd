// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/reduction.hpp"

#include "tests/unit/gpu/easyscale/job/floats.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

namespace troupe::easyscale {
namespace {

using Gradients = std::vector<std::vector<float>>;

// The mean of all gradients by one member that has all ranks.
std::vector<float> alone(Reducer reducer, const Gradients& gradients) {
  const auto ranks = static_cast<Rank>(gradients.size());
  View view;
  view.members = {0};
  view.ranges = {{0, ranks}};
  const auto reduction = make_reduction(reducer, view, 0, ranks, gradients[0].size());
  for (Rank rank = 0; rank < ranks; ++rank) {
    BOOST_REQUIRE(!reduction->finish());
    BOOST_REQUIRE(reduction->add_rank(rank, gradients[rank]));
  }
  BOOST_TEST(reduction->hand_in().empty());
  auto mean = reduction->finish();
  BOOST_REQUIRE(mean);
  BOOST_TEST(!reduction->finish());
  return *mean;
}

BOOST_AUTO_TEST_CASE(integers_are_exact_where_floats_are) {
  BOOST_TEST((alone(Reducer::int64, {{0.5F, -3, 0, 1e-3F}, {0.25F, 1, 0, 1e-3F}}) ==
              std::vector<float>{0.375F, -1, 0, 1e-3F}));
  BOOST_TEST((alone(Reducer::int64, {{0, 0}, {0, 0}}) == std::vector<float>{0, 0}));
}

BOOST_AUTO_TEST_CASE(integers_bear_the_largest_and_the_smallest_numbers) {
  constexpr float most = std::numeric_limits<float>::max();
  constexpr float least = std::numeric_limits<float>::denorm_min();
  BOOST_TEST(
      (alone(Reducer::int64, Gradients(4096, {most, -most})) == std::vector<float>{most, -most}));
  BOOST_TEST(
      (alone(Reducer::int64, Gradients(3, {least, -least})) == std::vector<float>{least, -least}));
}

BOOST_AUTO_TEST_CASE(integers_are_nearer_to_the_sum_than_a_chain) {
  constexpr std::size_t length = 500;
  Gradients gradients;
  for (Rank rank = 0; rank < 64; ++rank) gradients.push_back(test::awkward_floats(rank, length));
  double by_integers = 0;
  double by_chain = 0;
  const auto integers = alone(Reducer::int64, gradients);
  const auto chain = alone(Reducer::chain, gradients);
  for (std::size_t i = 0; i < length; ++i) {
    long double sum = 0;
    for (const auto& gradient : gradients) sum += gradient[i];
    by_integers += std::abs(static_cast<double>(integers[i] - sum / 64));
    by_chain += std::abs(static_cast<double>(chain[i] - sum / 64));
  }
  BOOST_TEST(by_integers < by_chain / 2);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_makes_the_whole_gradient_nan) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const float odd : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const float value : alone(Reducer::int64, {{1, 2}, {odd, 1}})) {
      BOOST_TEST(std::isnan(value));
    }
  }
}

BOOST_AUTO_TEST_CASE(shares_that_make_no_sense_are_refused) {
  View view;
  view.members = {0, 1, 2};
  view.ranges = {{0, 1}, {1, 1}, {2, 0}};
  const auto numbers = [](std::size_t bytes) { return Slice::own(std::vector<std::byte>(bytes)); };
  using Kind = Share::Kind;
  const auto integers = make_reduction(Reducer::int64, view, 0, 2, 9);  // shards of 3
  BOOST_TEST(!integers->take({Kind::scale, 1, {}, numbers(3)}));
  BOOST_TEST(integers->take({Kind::scale, 1, {}, numbers(4)}).has_value());
  BOOST_TEST(!integers->take({Kind::scale, 1, {}, numbers(4)}));  // twice
  BOOST_TEST(!integers->take({Kind::scale, 2, {}, numbers(4)}));  // has no ranks
  BOOST_TEST(!integers->take({Kind::partial, 1, {}, numbers(12)}));
  BOOST_TEST(integers->take({Kind::partial, 1, {}, numbers(24)}).has_value());
  BOOST_TEST(!integers->take({Kind::partial, 1, {}, numbers(24)}));  // twice
  const auto chain = make_reduction(Reducer::chain, view, 0, 2, 9);
  BOOST_TEST(!chain->take({Kind::scale, 1, {}, numbers(4)}));
  BOOST_TEST(!chain->take({Kind::partial, 1, {}, numbers(24)}));
  BOOST_TEST(!chain->take({Kind::partial, 2, {}, numbers(12)}));  // has no ranks
  BOOST_TEST(chain->take({Kind::partial, 1, {}, numbers(12)}).has_value());
  BOOST_TEST(!chain->take({Kind::partial, 1, {}, numbers(12)}));  // twice
  BOOST_TEST(!make_reduction(Reducer::tree, view, 0, 2, 9)->take({Kind::scale, 1, {}, numbers(4)}));
}

}  // namespace
}  // namespace troupe::easyscale
