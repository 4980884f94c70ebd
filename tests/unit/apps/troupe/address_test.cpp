// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/address.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(address)

BOOST_AUTO_TEST_CASE(reads_both_families_and_the_name_of_this_machine) {
  BOOST_TEST((parse_address("127.0.0.1:7070") == Address{"127.0.0.1", 7070}));
  BOOST_TEST((parse_address("[::1]:0") == Address{"::1", 0}));
  BOOST_TEST((parse_address("localhost:65535") == Address{"127.0.0.1", 65535}));
}

BOOST_AUTO_TEST_CASE(what_it_reads_is_written_the_same_way) {
  for (const std::string text : {"10.0.0.1:1", "[fe80::1%eth0]:22"}) {
    BOOST_TEST(to_string(*parse_address(text)) == text);
  }
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_address) {
  for (const std::string text :
       {"", ":", "7070", "host", "host:", ":7070", "::1:7070", "[]:1", "1.2.3.4:-1", "1.2.3.4:12x",
        "1.2.3.4: 12", "1.2 3.4:12", "1.2.3.4:+12", "1.2.3:4", "[::1::2]:5"}) {
    BOOST_TEST(!parse_address(text).has_value(), text);
  }
  BOOST_TEST(parse_address("127.0.0.1:65536").error().what == "the port must be from 0 to 65535");
  BOOST_TEST(parse_address("gpu-3:12").error().what ==
             "names are not looked up; write the host as a number, such as 127.0.0.1");
  BOOST_TEST(!parse_address(std::string(300, 'a') + ":1").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
