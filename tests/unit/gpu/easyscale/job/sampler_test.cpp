// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

namespace troupe::easyscale {
namespace {

BOOST_AUTO_TEST_CASE(an_epoch_uses_every_sample_at_most_once_and_drops_the_rest) {
  auto sampler = *Sampler::make(7, 1437, 8, 8);
  BOOST_TEST(sampler.steps_per_epoch() == 22U);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    std::set<std::uint32_t> seen;
    for (std::uint64_t t = 0; t < 22; ++t) {
      for (Rank rank = 0; rank < 8; ++rank) {
        for (const auto sample : sampler.batch(epoch * 22 + t, rank)) {
          BOOST_REQUIRE(sample < 1437U);
          BOOST_REQUIRE(seen.insert(sample).second);
        }
      }
    }
    BOOST_TEST(seen.size() == 22U * 64U);
  }
}

BOOST_AUTO_TEST_CASE(a_batch_depends_on_seed_step_and_rank_alone) {
  auto forwards = *Sampler::make(7, 300, 4, 4);
  auto backwards = *Sampler::make(7, 300, 4, 4);
  std::vector<std::vector<std::uint32_t>> first;
  for (std::uint64_t t = 0; t < 50; ++t) first.push_back(forwards.batch(t, t % 4));
  for (std::uint64_t t = 50; t-- > 0;) BOOST_TEST((backwards.batch(t, t % 4) == first[t]));
  auto other_seed = *Sampler::make(8, 300, 4, 4);
  BOOST_TEST((other_seed.batch(0, 0) != first[0]));
}

BOOST_AUTO_TEST_CASE(epochs_are_ordered_differently) {
  BOOST_TEST((permutation(1, 0, 100) != permutation(1, 1, 100)));
}

BOOST_AUTO_TEST_CASE(a_data_set_smaller_than_one_step_is_refused) {
  const auto sampler = Sampler::make(1, 63, 8, 8);
  BOOST_REQUIRE(!sampler);
  BOOST_TEST(sampler.error().what ==
             "one step takes 64 samples (ranks x batch x accumulate), and the training set has 63: "
             "lower ranks "
             "or batch");
  BOOST_TEST(!Sampler::make(1, 63, 0, 8));
}

BOOST_AUTO_TEST_CASE(ranks_and_steps_have_seeds_of_their_own) {
  std::set<std::uint64_t> seeds;
  for (std::uint64_t t = 0; t < 100; ++t) {
    for (Rank rank = 0; rank < 16; ++rank) seeds.insert(rank_seed(7, t, rank));
  }
  BOOST_TEST(seeds.size() == 1600U);
}

}  // namespace
}  // namespace troupe::easyscale
