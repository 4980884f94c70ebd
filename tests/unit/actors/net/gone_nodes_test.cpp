// SPDX-License-Identifier: Apache-2.0
#include "actors/net/gone_nodes.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace troupe {
namespace {

NodeId node(std::uint64_t number) { return {"n" + std::to_string(number), number}; }

const GoneNodes::Time start{};

BOOST_AUTO_TEST_CASE(the_last_that_died_are_remembered_however_long_ago) {
  GoneNodes gone;
  for (std::uint64_t i = 0; i < GoneNodes::kept_for_ever; ++i) gone.add(node(i), start);
  gone.add(node(0), start + std::chrono::hours(1000));
  BOOST_TEST(gone.contains(node(0)));
  BOOST_TEST(gone.contains(node(GoneNodes::kept_for_ever - 1)));
  BOOST_TEST(!gone.contains(node(GoneNodes::kept_for_ever)));
}

BOOST_AUTO_TEST_CASE(of_more_than_those_the_old_ones_go) {
  GoneNodes gone;
  for (std::uint64_t i = 0; i < GoneNodes::kept_for_ever; ++i) gone.add(node(i), start);
  gone.add(node(10000), start + std::chrono::minutes(9));
  BOOST_TEST(gone.contains(node(0)));  // not old enough
  gone.add(node(10001), start + std::chrono::minutes(11));
  BOOST_TEST(gone.size() == GoneNodes::kept_for_ever);
  BOOST_TEST(!gone.contains(node(0)));
  BOOST_TEST(!gone.contains(node(1)));
  BOOST_TEST(gone.contains(node(2)));
}

BOOST_AUTO_TEST_CASE(there_are_never_more_than_so_many) {
  GoneNodes gone;
  for (std::uint64_t i = 0; i < GoneNodes::most + 1000; ++i) gone.add(node(i), start);
  BOOST_TEST(gone.size() == GoneNodes::most);
  BOOST_TEST(!gone.contains(node(999)));
  BOOST_TEST(gone.contains(node(1000)));
}

}  // namespace
}  // namespace troupe
