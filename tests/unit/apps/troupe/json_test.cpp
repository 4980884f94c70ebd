// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/json.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(json)

BOOST_AUTO_TEST_CASE(keys_keep_their_order) {
  BOOST_TEST(to_text(Json::Object{{"z", 1}, {"a", true}, {"m", Json()}}) ==
             R"({"z":1,"a":true,"m":null})");
}

BOOST_AUTO_TEST_CASE(values_of_every_type_are_written) {
  const Json json = Json::Array{-5, 0.5, "text \"quoted\"\n", Json::Array{}, Json::Object{}};
  BOOST_TEST(to_text(json) == R"([-5,0.5,"text \"quoted\"\n",[],{}])");
}

BOOST_AUTO_TEST_CASE(large_integers_stay_exact) {
  BOOST_TEST(to_text(Json(std::numeric_limits<std::int64_t>::max())) == "9223372036854775807");
}

BOOST_AUTO_TEST_CASE(what_json_cannot_hold_does_no_harm) {
  BOOST_TEST(to_text(Json(std::numeric_limits<double>::infinity())) == "null");
  BOOST_TEST(to_text(Json(std::string("a\xff"))) == "\"a\xef\xbf\xbd\"");
}

BOOST_AUTO_TEST_CASE(an_event_begins_with_its_name) {
  const Event event{"step", {{"step", std::int64_t{3}}, {"loss", 0.25}, {"why", std::string("x")}}};
  BOOST_TEST(to_text(event) == R"({"event":"step","step":3,"loss":0.25,"why":"x"})");
}

BOOST_AUTO_TEST_SUITE_END()
