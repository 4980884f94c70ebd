// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/options.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::bench;

BOOST_AUTO_TEST_SUITE(options)

BOOST_AUTO_TEST_CASE(without_words_a_table_of_the_normal_effort_is_made) {
  const auto options = parse_options({});
  BOOST_REQUIRE(options.has_value());
  BOOST_TEST(!options->json);
  BOOST_TEST((options->effort == Effort::normal));
}

BOOST_AUTO_TEST_CASE(output_and_effort_are_taken) {
  const auto options = parse_options({"-o", "json", "--long"});
  BOOST_REQUIRE(options.has_value());
  BOOST_TEST(options->json);
  BOOST_TEST((options->effort == Effort::thorough));
  BOOST_TEST((parse_options({"--quick"})->effort == Effort::quick));
}

BOOST_AUTO_TEST_CASE(misspelt_words_get_the_ones_that_were_meant) {
  BOOST_TEST(parse_options({"--lon"}).error().what ==
             "unknown option '--lon', did you mean '--long'?");
  BOOST_TEST(parse_options({"-o", "jsno"}).error().what ==
             "no output 'jsno', did you mean 'json'?");
  BOOST_TEST(!parse_options({"-o"}).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
