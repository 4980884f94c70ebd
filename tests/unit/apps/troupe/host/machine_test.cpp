// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/machine.hpp"

#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(machine)

BOOST_AUTO_TEST_CASE(what_is_on_this_machine_is_reached_from_its_own_loopback_address) {
  BOOST_TEST(own_address_towards({"127.0.0.1", 7070}).value() == "127.0.0.1");
  BOOST_TEST(test::why(own_address_towards({"somewhere", 1})) ==
             "'somewhere' is no numeric address");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
