// SPDX-License-Identifier: Apache-2.0
#include "actors/net/control_connection.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(a_name_is_no_address_and_the_error_shows_what_is) {
  for (const auto* host : {"", "somewhere", "1.2.3", "::1:2:3:4:5:6:7:8:9"}) {
    const auto listener = listen_on({host, 0});
    BOOST_REQUIRE(!listener);
    BOOST_TEST(listener.error().what.find("127.0.0.1") != std::string::npos);
    BOOST_TEST(!begin_connect({host, 1}));
  }
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_named_together_with_the_way_out) {
  const auto first = listen_on({"127.0.0.1", 0});
  BOOST_REQUIRE(first);
  BOOST_TEST(first->address.port != 0);
  const auto second = listen_on(first->address);
  BOOST_REQUIRE(!second);
  BOOST_CHECK(second.error().code == ErrorCode::already_exists);
  BOOST_TEST(second.error().what.find(to_string(first->address)) != std::string::npos);
  BOOST_TEST(second.error().what.find("choose another") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_address_of_another_machine_cannot_be_listened_on) {
  const auto elsewhere = listen_on({"192.0.2.1", 0});
  BOOST_REQUIRE(!elsewhere);
  BOOST_CHECK(elsewhere.error().code == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace troupe
