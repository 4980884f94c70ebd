// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/counterparts.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::bench;

BOOST_AUTO_TEST_SUITE(counterparts)

BOOST_AUTO_TEST_CASE(a_program_that_ends_at_once_is_an_error_that_says_how) {
  Launcher launcher;
  const auto pair = Counterparts::start(launcher, "/bin/false", "nobody", "0");
  BOOST_REQUIRE(!pair.has_value());
  BOOST_TEST(pair.error().what.find("exit status 1") != std::string::npos, pair.error().what);
}

BOOST_AUTO_TEST_CASE(a_program_that_is_not_there_is_an_error) {
  Launcher launcher;
  BOOST_TEST(!Counterparts::start(launcher, "/nowhere/at/all", "nobody", "0").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
