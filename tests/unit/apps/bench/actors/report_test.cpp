// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/report.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

using namespace troupe;
using namespace troupe::bench;

namespace {

Plan small_plan() {
  Plan plan;
  plan.probes = {{"troupe", {}, Quantity::micros, {"ours_rtt_us_p50"}},
                 {"basp", {}, Quantity::micros, {"theirs_rtt_us_p50"}}};
  plan.bars = {{"ours_to_theirs", "ours_rtt_us_p50", "theirs_rtt_us_p50", false, 0.5}};
  return plan;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench_report)

BOOST_AUTO_TEST_CASE(times_of_streams_become_rates) {
  const Probe messages{
      "x", {Work::stream, Lane::scheduled, 64, 1000, 0}, Quantity::messages_per_second, {"a"}};
  BOOST_TEST(convert(messages, {0.5}).at(0) == 2000);
  const Probe bytes{"x",
                    {Work::stream, Lane::scheduled, 1'000'000, 1000, 8},
                    Quantity::gigabytes_per_second,
                    {"a"}};
  BOOST_TEST(convert(bytes, {0.5}).at(0) == 2);
}

BOOST_AUTO_TEST_CASE(a_bar_compares_the_rounds_one_by_one) {
  // The second round met a busy machine: each side is ten times slower, the ratio is the same.
  const Outcome outcome{
      "0,1", 3, {{"ours_rtt_us_p50", {10, 100, 10}}, {"theirs_rtt_us_p50", {40, 400, 20}}}, {}};
  const auto text = to_text(Json(figures_of(small_plan(), outcome)));
  BOOST_TEST(has(text, R"("ours_rtt_us_p50":10.0)"), text);
  BOOST_TEST(has(text, R"("ours_to_theirs":{"ratio":0.25,"bar":"<= 0.5","met":true})"), text);
  BOOST_TEST(has(text, R"("spread":{"ours_rtt_us_p50":[10.0,100.0])"), text);
}

BOOST_AUTO_TEST_CASE(what_was_skipped_says_why_and_has_no_figure) {
  const Outcome outcome{
      "0", 1, {{"ours_rtt_us_p50", {10}}}, {{"basp", "its program is not there"}}};
  const auto text = to_text(report(small_plan(), {outcome}, {}));
  BOOST_TEST(has(text, R"("basp_skipped":"its program is not there")"), text);
  BOOST_TEST(!has(text, R"("theirs_rtt_us_p50")"), text);
  BOOST_TEST(has(text, R"("two_cores_skipped")"), text);
  BOOST_TEST(has(text, R"("one_core":{)"), text);
}

BOOST_AUTO_TEST_CASE(the_table_has_a_column_for_each_set_of_cores) {
  const Outcome two{"0,1", 1, {{"ours_rtt_us_p50", {10}}, {"theirs_rtt_us_p50", {15}}}, {}};
  const Outcome one{"0", 1, {{"ours_rtt_us_p50", {12}}}, {}};
  const auto text = report_table(small_plan(), {two, one});
  BOOST_TEST(has(text, "CORES 0,1"), text);
  BOOST_TEST(has(text, "0.67 missed"), text);
}

BOOST_AUTO_TEST_CASE(no_figure_of_the_plan_has_the_name_of_another) {
  std::set<std::string> keys;
  for (const auto effort : {Effort::quick, Effort::normal, Effort::thorough}) {
    keys.clear();
    for (const auto& probe : make_plan(effort).probes) {
      for (const auto& key : probe.keys) BOOST_TEST(keys.insert(key).second, key);
    }
  }
  for (const auto& bar : make_plan(Effort::normal).bars) {
    BOOST_TEST(keys.contains(bar.ours));
    BOOST_TEST(keys.contains(bar.theirs));
  }
}

BOOST_AUTO_TEST_SUITE_END()
