// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/host_table.hpp"

#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using std::chrono::seconds;
using Time = HostTable::Time;

HostTable a_table() {
  HostTable::Settings settings;
  settings.host = "h1";
  settings.total = {4, 8_GiB, 1};
  return HostTable(settings);
}

HostTable::Request a_request(const std::string& path = "/jobs/x/t/0", Resources takes = {}) {
  return {path, 1, "x.t-0", "boss", takes};
}

/// A table in which that path is up for "boss".
HostTable with_one_up() {
  auto table = a_table();
  BOOST_REQUIRE(table.launch(a_request()));
  table.started("/jobs/x/t/0", 123);
  table.up("/jobs/x/t/0", {{"x.t-0.1", 5}, {}, 9});
  return table;
}

BOOST_AUTO_TEST_SUITE(host_table)

BOOST_AUTO_TEST_CASE(a_path_lives_once) {
  auto table = with_one_up();
  BOOST_TEST(test::why(table.launch(a_request())) ==
             "/jobs/x/t/0 lives on node h1 already, for boss");
  table.ended("/jobs/x/t/0");
  BOOST_TEST(table.empty());
  BOOST_TEST(table.launch(a_request()).value() == "x.t-0.2");
}

BOOST_AUTO_TEST_CASE(what_lives_takes_from_what_is_free) {
  auto table = a_table();
  BOOST_REQUIRE(table.launch(a_request("/a", {3, 1_GiB, 1})));
  BOOST_TEST((table.free() == Resources{1, 7_GiB, 0}));
  BOOST_TEST(test::why(table.launch(a_request("/b", {2, {}, 0}))) ==
             "/b does not fit on node h1: needs cpus=2, 1 of 4 free");
  table.ended("/a");
  BOOST_TEST((table.free() == Resources{4, 8_GiB, 1}));
}

BOOST_AUTO_TEST_CASE(a_draining_host_launches_nothing) {
  auto table = a_table();
  table.drain();
  BOOST_TEST(test::why(table.launch(a_request())) ==
             "/jobs/x/t/0 does not fit on node h1: is draining");
}

BOOST_AUTO_TEST_CASE(names_of_nodes_and_numbers_of_lives_are_bounded) {
  HostTable::Settings settings;
  settings.most_lives = 1;
  HostTable table(settings);
  auto bad = a_request();
  bad.node_name = "../x";
  BOOST_TEST(test::why(table.launch(bad)) == "/jobs/x/t/0 asks for a node name that is none");
  BOOST_REQUIRE(table.launch(a_request()));
  BOOST_TEST(test::why(table.launch(a_request("/b"))).find("as many as it may") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_orphan_is_kept_for_a_while_then_asked_and_then_killed) {
  auto table = with_one_up();
  const Time lost{};
  BOOST_TEST(!table.wake());
  table.owner_gone("somebody else", lost);
  BOOST_TEST(!table.orphan_at("/jobs/x/t/0"));
  table.owner_gone("boss", lost);
  BOOST_TEST(table.orphan_at("/jobs/x/t/0"));
  BOOST_CHECK(table.wake() == lost + seconds(60));
  BOOST_TEST(table.due(lost + seconds(59)).empty());
  BOOST_CHECK(table.due(lost + seconds(60)) ==
              (std::vector<HostTable::Order>{{"/jobs/x/t/0", false}}));
  BOOST_TEST(table.due(lost + seconds(61)).empty());
  BOOST_CHECK(table.due(lost + seconds(63)) ==
              (std::vector<HostTable::Order>{{"/jobs/x/t/0", true}}));
  BOOST_TEST(!table.wake());
}

BOOST_AUTO_TEST_CASE(a_successor_adopts_an_orphan_and_nobody_adopts_what_has_an_owner) {
  auto table = with_one_up();
  BOOST_TEST(test::why(table.adopt("/jobs/x/t/0", 1, "heir")) ==
             "/jobs/x/t/0 on node h1 has an owner, boss");
  BOOST_TEST(test::why(table.adopt("/jobs/x/t/0", 2, "heir")) ==
             "/jobs/x/t/0 does not live on node h1 (life 2)");
  table.owner_gone("boss", {});
  const auto adopted = table.adopt("/jobs/x/t/0", 1, "heir");
  BOOST_REQUIRE(adopted);
  BOOST_TEST(adopted->pid == 123);
  BOOST_TEST(adopted->actor.actor == 9u);
  BOOST_TEST(!table.wake());
  table.owner_gone("boss", {});
  BOOST_TEST(!table.orphan_at("/jobs/x/t/0"));
  table.owner_gone("heir", {});
  BOOST_TEST(table.orphan_at("/jobs/x/t/0"));
}

BOOST_AUTO_TEST_CASE(what_is_starting_or_ending_is_not_adopted) {
  auto table = a_table();
  BOOST_REQUIRE(table.launch(a_request()));
  table.owner_gone("boss", {});
  BOOST_TEST(test::why(table.adopt("/jobs/x/t/0", 1, "heir")) ==
             "/jobs/x/t/0 on node h1 is not up yet");
  BOOST_TEST(table.end("/jobs/x/t/0", 1, false, "boss", {}).has_value());
  BOOST_TEST(test::why(table.adopt("/jobs/x/t/0", 1, "heir")) ==
             "/jobs/x/t/0 on node h1 is being ended");
}

BOOST_AUTO_TEST_CASE(only_the_life_that_is_meant_is_ended) {
  auto table = with_one_up();
  BOOST_TEST(!table.end("/jobs/x/t/0", 2, true, "boss", {}));
  BOOST_TEST(!table.end("/jobs/x/t/1", 1, true, "boss", {}));
  BOOST_CHECK(
      (table.end("/jobs/x/t/0", 1, true, "boss", {}) == HostTable::Order{"/jobs/x/t/0", true}));
}

BOOST_AUTO_TEST_CASE(a_former_owner_ends_nothing_of_its_successor) {
  auto table = with_one_up();
  table.owner_gone("boss", {});
  BOOST_REQUIRE(table.adopt("/jobs/x/t/0", 1, "heir"));
  BOOST_TEST(!table.end("/jobs/x/t/0", 1, true, "boss", {}));
  BOOST_TEST(table.adopt("/jobs/x/t/0", 1, "heir").has_value());
  BOOST_TEST(table.end("/jobs/x/t/0", 1, true, "heir", {}).has_value());
}

BOOST_AUTO_TEST_CASE(an_orphan_may_be_ended_by_anybody) {
  auto table = with_one_up();
  table.owner_gone("boss", {});
  BOOST_TEST(table.end("/jobs/x/t/0", 1, false, "heir", {}).has_value());
}

BOOST_AUTO_TEST_CASE(who_is_being_ended_when_its_owner_goes_is_killed_in_time) {
  auto table = with_one_up();
  BOOST_TEST(table.end("/jobs/x/t/0", 1, false, "boss", {}).has_value());
  BOOST_TEST(!table.wake());  // its owner counts
  table.owner_gone("boss", Time{} + seconds(1));
  BOOST_CHECK(table.wake() == Time{} + seconds(4));
}

BOOST_AUTO_TEST_CASE(lives_are_listed_below_a_path_and_found_by_their_nodes) {
  auto table = a_table();
  for (const std::string path : {"/jobs/x/t/0", "/jobs/x/t/1", "/jobs/y/t/0"}) {
    BOOST_REQUIRE(table.launch(a_request(path)));
  }
  BOOST_TEST(table.below("/jobs/x/").size() == 2u);
  BOOST_TEST(table.below("").size() == 3u);
  BOOST_TEST(table.find_node("x.t-0.3")->path == "/jobs/y/t/0");
  BOOST_TEST(table.find_node("x.t-0.4") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
