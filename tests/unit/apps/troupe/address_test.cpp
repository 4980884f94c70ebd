// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/address.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(address)

BOOST_AUTO_TEST_CASE(reads_names_and_both_families) {
  BOOST_TEST((parse_address("127.0.0.1:7070") == Address{"127.0.0.1", 7070}));
  BOOST_TEST((parse_address("[::1]:0") == Address{"::1", 0}));
  BOOST_TEST((parse_address("node-3.local:65535") == Address{"node-3.local", 65535}));
}

BOOST_AUTO_TEST_CASE(what_it_reads_is_written_the_same_way) {
  for (const std::string text : {"10.0.0.1:1", "[fe80::1%eth0]:22"}) {
    BOOST_TEST(to_string(*parse_address(text)) == text);
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_address) {
  for (const std::string text : {"", ":", "7070", "host", "host:", ":7070", "::1:7070", "[]:1",
                                 "host:-1", "host:12x", "host: 12", "ho st:12", "host:+12"}) {
    BOOST_TEST(!parse_address(text).has_value(), text);
  }
  BOOST_TEST(parse_address("host:65536").error().what == "the port must be from 0 to 65535");
  BOOST_TEST(!parse_address(std::string(300, 'a') + ":1").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
