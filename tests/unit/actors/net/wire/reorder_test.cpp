// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/reorder.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(any_order_of_arrival_becomes_the_order_of_sending) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::vector<std::uint64_t> arrivals(200);
    std::iota(arrivals.begin(), arrivals.end(), 0);
    std::shuffle(arrivals.begin(), arrivals.end(), std::mt19937(seed));
    Reorder<std::uint64_t> reorder;
    std::vector<std::uint64_t> delivered;
    for (const auto sequence : arrivals) {
      BOOST_REQUIRE(
          reorder.push(sequence, sequence, [&](std::uint64_t n) { delivered.push_back(n); }));
    }
    BOOST_TEST_CONTEXT("seed " << seed) {
      BOOST_TEST(delivered.size() == arrivals.size());
      BOOST_TEST(std::is_sorted(delivered.begin(), delivered.end()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_frame_that_was_there_already_is_an_error_and_is_not_delivered_again) {
  Reorder<std::uint64_t> reorder;
  int delivered = 0;
  const auto count = [&](std::uint64_t) { ++delivered; };
  BOOST_TEST(bool(reorder.push(0, 0, count)));
  BOOST_TEST(!reorder.push(0, 0, count));
  BOOST_TEST(bool(reorder.push(2, 2, count)));
  BOOST_TEST(!reorder.push(2, 2, count));
  BOOST_TEST(delivered == 1);
}

BOOST_AUTO_TEST_CASE(what_waits_is_bounded) {
  Reorder<std::uint64_t> reorder;
  const auto nothing = [](std::uint64_t) {};
  BOOST_TEST(bool(reorder.push(Reorder<std::uint64_t>::window - 1,
                               Reorder<std::uint64_t>::window - 1, nothing)));
  BOOST_TEST(
      !reorder.push(Reorder<std::uint64_t>::window, Reorder<std::uint64_t>::window, nothing));
}

}  // namespace
}  // namespace troupe
