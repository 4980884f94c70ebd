// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/peer/task.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe::bench;

BOOST_AUTO_TEST_SUITE(task)

BOOST_AUTO_TEST_CASE(a_task_survives_its_journey_as_a_line) {
  const Task task{Work::stream, Lane::inlined, std::uint64_t{64} << 20, 3, 2};
  const auto read = parse_task(to_line(task));
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((*read == task));
}

BOOST_AUTO_TEST_CASE(what_is_no_task_is_refused) {
  for (const std::string line :
       {"", "1 2", "9 0 64 1 0", "0 9 64 1 0", "0 0 64 0 0", "a b c d e"}) {
    BOOST_TEST(!parse_task(line).has_value());
  }
}

BOOST_AUTO_TEST_CASE(half_of_the_window_is_acknowledged_at_a_time) {
  BOOST_TEST((Task{Work::stream, Lane::scheduled, 1, 1, 0}.ack_every()) == 0u);
  BOOST_TEST((Task{Work::stream, Lane::scheduled, 1, 1, 1}.ack_every()) == 1u);
  BOOST_TEST((Task{Work::stream, Lane::scheduled, 1, 1, 8}.ack_every()) == 4u);
}

BOOST_AUTO_TEST_CASE(a_percentile_is_one_of_the_values) {
  const std::vector<double> values = {5, 1, 4, 2, 3};
  BOOST_TEST(median(values) == 3);
  BOOST_TEST(percentile(values, 0.99) == 5);
  BOOST_TEST(percentile(values, 0.2) == 1);
  BOOST_TEST(percentile(values, 0) == 1);
  BOOST_TEST(median({7}) == 7);
}

BOOST_AUTO_TEST_SUITE_END()
