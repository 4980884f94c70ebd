// SPDX-License-Identifier: Apache-2.0
#include <boost/test/unit_test.hpp>

#include "actors/net/control_connection.hpp"

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(addresses_are_read_and_written_alike) {
  for (const auto* text : {"127.0.0.1:7070", "[::1]:65535", "10.1.2.3:0"}) {
    const auto address = parse_address(text);
    BOOST_REQUIRE(address);
    BOOST_TEST(to_string(*address) == text);
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused_with_an_example) {
  for (const auto* text : {"", ":", "7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:7070x",
                           "127.0.0.1:65536", "127.0.0.1:-1", "somewhere:7070", "1.2.3:7", "[::1:7"}) {
    const auto address = parse_address(text);
    BOOST_TEST_CONTEXT(text) {
      BOOST_REQUIRE(!address);
      BOOST_TEST(address.error().what.find("127.0.0.1:7070") != std::string::npos);
    }
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
