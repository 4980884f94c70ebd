// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/ties.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(an_actor_gets_one_observer_however_often_it_is_monitored) {
  Ties ties;
  BOOST_TEST(ties.monitor(5));
  ties.demonitor(5);
  BOOST_TEST(!ties.monitor(5));
  BOOST_TEST(ties.monitor(6));
  BOOST_TEST(ties.end_monitor(5));
  BOOST_TEST(!ties.end_monitor(5));
  BOOST_TEST(ties.monitor(5));
}

BOOST_AUTO_TEST_CASE(who_takes_a_tie_back_is_not_told) {
  Ties ties;
  BOOST_TEST(ties.monitor(5));
  ties.demonitor(5);
  ties.demonitor(6);
  BOOST_TEST(!ties.end_monitor(5));
  BOOST_TEST(ties.add({1, 2}));
  BOOST_TEST(ties.set({1, 2}, false));
  BOOST_TEST(!ties.end({1, 2}));
  BOOST_TEST(!ties.set({1, 2}, true));  // it went with its actor
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_lost_is_not_told) {
  Ties ties;
  BOOST_TEST(ties.monitor(5));
  BOOST_TEST(ties.add({1, 2}));
  ties.forget_monitors();
  BOOST_TEST(!ties.end_monitor(5));
  BOOST_TEST(ties.end({1, 2}));  // ours still ends with theirs
}

BOOST_AUTO_TEST_CASE(there_are_only_so_many_links) {
  Ties ties;
  for (ActorNumber i = 0; i < Ties::max_links; ++i) BOOST_REQUIRE(ties.add({i, 2}));
  BOOST_TEST(!ties.add({Ties::max_links, 2}));
  BOOST_TEST(ties.end({0, 2}));
  BOOST_TEST(ties.add({Ties::max_links, 2}));
}

}  // namespace
}  // namespace troupe
