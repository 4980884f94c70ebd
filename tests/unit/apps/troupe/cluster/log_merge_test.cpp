// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/log_merge.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

std::string at(int second, const std::string& what) {
  return "ts=2026-05-01T12:00:" + std::string(second < 10 ? "0" : "") + std::to_string(second) +
         ".000Z level=info node=n msg=\"" + what + "\"";
}

std::vector<std::string> take_all(LogMerge& merge) {
  std::vector<std::string> lines;
  while (auto line = merge.next()) lines.push_back(std::to_string(line->log) + " " + line->text);
  return lines;
}

BOOST_AUTO_TEST_CASE(lines_come_in_the_order_of_time_and_undated_ones_stay_with_the_line_above) {
  LogMerge merge;
  merge.add_log();
  merge.add_log();
  merge.add(0, at(1, "a") + "\nraw after a\n" + at(5, "b") + "\n");
  merge.add(1, "raw first\n" + at(2, "c") + "\n" + at(6, "d") + "\n");
  merge.finish(0);
  merge.finish(1);
  BOOST_TEST(take_all(merge) == (std::vector<std::string>{"1 raw first", "0 " + at(1, "a"),
                                                          "0 raw after a", "1 " + at(2, "c"),
                                                          "0 " + at(5, "b"), "1 " + at(6, "d")}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_is_told_while_a_log_may_hold_something_earlier) {
  LogMerge merge;
  merge.add_log();
  merge.add_log();
  merge.add(0, at(3, "later") + "\n");
  BOOST_TEST(merge.wants());
  BOOST_TEST(merge.wants(1));
  BOOST_TEST(!merge.next());
  merge.add(1, at(1, "ear"));
  merge.add(1, "\n");  // whole lines only
  BOOST_TEST(merge.next()->text == at(1, "ear"));
  BOOST_TEST(!merge.next());
  merge.pause(1);
  BOOST_TEST(merge.next()->text == at(3, "later"));
}

BOOST_AUTO_TEST_CASE(a_part_of_a_line_waits_for_its_end_or_for_the_end_of_the_log) {
  LogMerge merge;
  merge.add_log();
  merge.add(0, "one\ntw");
  merge.pause(0);
  BOOST_TEST(take_all(merge) == std::vector<std::string>{"0 one"},
             boost::test_tools::per_element());
  merge.add(0, "o\nthree");
  merge.finish(0);
  BOOST_TEST(take_all(merge) == (std::vector<std::string>{"0 two", "0 three"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_clock_that_went_back_changes_no_logs_own_order) {
  LogMerge merge;
  merge.add_log();
  merge.add_log();
  merge.add(0, at(9, "a") + "\n" + at(1, "b") + "\n");
  merge.add(1, at(5, "c") + "\n");
  merge.finish(0);
  merge.finish(1);
  BOOST_TEST(take_all(merge) == (std::vector<std::string>{"1 " + at(5, "c"), "0 " + at(9, "a"),
                                                          "0 " + at(1, "b")}),
             boost::test_tools::per_element());
}

}  // namespace
}  // namespace troupe
