// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/actor_table.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using Time = ActorTable::Time;
using std::chrono::milliseconds;
using std::chrono::seconds;

Time at(int s) { return Time(seconds(s)); }
Error boom() { return {ErrorCode::internal, "boom"}; }
Error normal() { return {ErrorCode::aborted, "ended normally"}; }

ActorLife life(const std::string& path, int pid = 7) {
  return {path, {{"n.1", 1}, {}, 5}, {{"n", 2}, {}, 6}, pid};
}

/// A job with a supervisor and `count` workers, all up at second 1.
ActorTable job(int count, std::size_t most_ended = 1000) {
  ActorTable table(most_ended);
  table.expect({"/jobs/j", "supervisor", {}, {}}, at(0));
  table.up(life("/jobs/j"), at(1));
  for (int i = 0; i < count; ++i) {
    const auto path = "/jobs/j/w/" + std::to_string(i);
    table.expect({path, "worker", "/jobs/j", "permanent"}, at(0));
    table.up(life(path), at(1));
  }
  return table;
}

std::vector<std::string> paths(const ActorTable::Page& page) {
  std::vector<std::string> all;
  for (const auto* entry : page.entries) all.push_back(entry->seat.path);
  return all;
}

BOOST_AUTO_TEST_CASE(an_actor_starts_runs_restarts_and_runs_again) {
  ActorTable table;
  const std::string path = "/jobs/j/w/0";
  table.expect({path, "worker", "/jobs/j", "permanent"}, at(0));
  BOOST_CHECK(table.find(path)->state == ActorState::STARTING);
  table.up(life(path, 41), at(1));
  BOOST_CHECK(table.find(path)->state == ActorState::RUNNING);
  BOOST_TEST(table.find(path)->life.pid == 41);
  table.down(path, boom(), true, at(4));
  const auto& down = *table.find(path);
  BOOST_CHECK(down.state == ActorState::RESTARTING);
  BOOST_TEST(down.life.pid == 0);
  BOOST_TEST(down.cause == "boom");
  BOOST_TEST(down.restarts == 1u);
  table.up(life(path, 42), at(5));
  const auto& again = *table.find(path);
  BOOST_CHECK(again.state == ActorState::RUNNING);
  BOOST_CHECK(again.since == at(5));
  BOOST_TEST(again.seat.kind == "worker");
  BOOST_TEST(again.cause == "boom");  // of the last time
}

BOOST_AUTO_TEST_CASE(a_life_that_ended_is_kept_with_its_first_cause_and_how_long_it_was) {
  auto table = job(2);
  table.down("/jobs/j/w/0", boom(), true, at(4));
  table.down("/jobs/j/w/1", normal(), false, at(6));
  const auto page = table.list_ended("", "", 10);
  BOOST_TEST(paths(page) == (std::vector<std::string>{"/jobs/j/w/1", "/jobs/j/w/0"}),
             boost::test_tools::per_element());
  BOOST_CHECK(page.entries[0]->state == ActorState::ENDED);
  BOOST_CHECK(page.entries[1]->state == ActorState::FAILED);
  BOOST_TEST(page.entries[1]->cause == "boom");
  BOOST_CHECK(page.entries[1]->lived == seconds(3));
  BOOST_TEST(table.find("/jobs/j/w/1") == nullptr);
  BOOST_TEST(table.totals().failures == 1u);
  BOOST_TEST(table.totals().restarts == 1u);
}

BOOST_AUTO_TEST_CASE(the_ring_of_ended_lives_is_bounded_and_keeps_the_last) {
  auto table = job(1, 5);
  for (int i = 0; i < 20; ++i) {
    table.down("/jobs/j/w/0", {ErrorCode::internal, std::to_string(i)}, true, at(10 + i));
    table.up(life("/jobs/j/w/0"), at(10 + i));
  }
  const auto page = table.list_ended("", "", 100);
  BOOST_TEST(page.entries.size() == 5u);
  BOOST_TEST(page.entries.front()->cause == "19");
  BOOST_TEST(page.entries.back()->cause == "15");
}

BOOST_AUTO_TEST_CASE(one_that_never_came_up_ends_without_having_lived) {
  ActorTable table;
  table.expect({"/jobs/j/w/0", "worker", "/jobs/j", "permanent"}, at(0));
  table.down("/jobs/j/w/0", boom(), true, at(9));
  BOOST_CHECK(table.list_ended("", "", 1).entries.at(0)->lived == milliseconds(0));
}

BOOST_AUTO_TEST_CASE(with_a_job_goes_all_below_it_and_nothing_else) {
  auto table = job(2);
  table.expect({"/jobs/j2", "supervisor", {}, {}}, at(0));
  table.up(life("/jobs/j2"), at(1));
  table.down("/jobs/j", boom(), false, at(3));
  BOOST_TEST(paths(table.list("", "", 10)) == (std::vector<std::string>{"/jobs/j2"}),
             boost::test_tools::per_element());
  const auto ended = table.list_ended("/jobs/j", "", 10);
  BOOST_TEST(ended.entries.size() == 3u);
  BOOST_TEST(ended.entries.front()->cause == "with /jobs/j: boom");
}

BOOST_AUTO_TEST_CASE(a_waiting_actor_says_for_what_until_it_steps_on) {
  auto table = job(1);
  const std::string path = "/jobs/j/w/0";
  table.waiting(path, "a member on node b", at(5));
  BOOST_CHECK(table.find(path)->state == ActorState::WAITING);
  BOOST_TEST(table.find(path)->waits_for == "a member on node b");
  BOOST_CHECK(table.find(path)->since == at(5));
  table.waiting(path, "a member on node c", at(6));
  BOOST_CHECK(table.find(path)->since == at(5));
  table.stepped(path, 1, at(8));
  BOOST_CHECK(table.find(path)->state == ActorState::RUNNING);
  BOOST_TEST(table.find(path)->waits_for == "");
  BOOST_CHECK(table.find(path)->since == at(8));
  table.down(path, boom(), true, at(9));
  table.waiting(path, "200 ms", at(9));  // why it is not up again yet
  BOOST_CHECK(table.find(path)->state == ActorState::RESTARTING);
  BOOST_TEST(table.find(path)->waits_for == "200 ms");
}

BOOST_AUTO_TEST_CASE(news_of_nobody_change_nothing) {
  auto table = job(1);
  table.down("/jobs/other", boom(), true, at(3));
  table.waiting("/jobs/other", "x", at(3));
  table.stepped("/jobs/other", 1, at(3));
  BOOST_TEST(table.list("", "", 10).entries.size() == 2u);
  BOOST_TEST(table.list_ended("", "", 10).entries.empty());
}

BOOST_AUTO_TEST_CASE(ten_thousand_actors_come_in_pages_each_once_and_in_order) {
  const auto table = job(10000);
  std::vector<std::string> seen;
  std::string after;
  int pages = 0;
  do {
    const auto page = table.list("", after, 500);
    BOOST_TEST_REQUIRE(page.entries.size() <= 500u);
    for (const auto* entry : page.entries) seen.push_back(entry->seat.path);
    after = page.next;
    ++pages;
  } while (!after.empty());
  BOOST_TEST(seen.size() == 10001u);
  BOOST_TEST(pages == 21);
  BOOST_CHECK(std::is_sorted(seen.begin(), seen.end()));
  BOOST_CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
}

BOOST_AUTO_TEST_CASE(a_page_that_is_full_to_the_last_says_that_there_is_no_more) {
  const auto table = job(9);
  BOOST_TEST(table.list("", "", 10).next == "");
  BOOST_TEST(table.list("", "", 9).next == "/jobs/j/w/7");
  BOOST_TEST(table.list("", "/jobs/j/w/8", 10).entries.empty());
}

BOOST_AUTO_TEST_CASE(ended_ones_come_in_pages_too) {
  auto table = job(7);
  for (int i = 0; i < 7; ++i) table.down("/jobs/j/w/" + std::to_string(i), boom(), false, at(2));
  std::size_t seen = 0;
  std::string after;
  do {
    const auto page = table.list_ended("/jobs/j/w", after, 3);
    seen += page.entries.size();
    after = page.next;
  } while (!after.empty());
  BOOST_TEST(seen == 7u);
}

BOOST_AUTO_TEST_CASE(a_prefix_ends_at_a_slash) {
  BOOST_TEST(is_below("/jobs/j/w", "/jobs/j"));
  BOOST_TEST(is_below("/jobs/j", "/jobs/j"));
  BOOST_TEST(is_below("/jobs/j", ""));
  BOOST_TEST(!is_below("/jobs/j2", "/jobs/j"));
  auto table = job(12);
  BOOST_TEST(paths(table.list("/jobs/j/w/1", "", 100)) == (std::vector<std::string>{"/jobs/j/w/1"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_rate_needs_two_steps_and_falls_to_zero_when_none_comes) {
  StepRate rate;
  BOOST_TEST(!rate.per_second(at(0)).has_value());
  rate.add(10, at(0));
  BOOST_TEST(!rate.per_second(at(1)).has_value());
  rate.add(30, at(1));
  BOOST_TEST(rate.per_second(at(1)).value() == 20);
  BOOST_TEST(rate.per_second(at(12)).value() == 0);
  rate.add(20, at(12));  // done again from an earlier one
  BOOST_TEST(!rate.per_second(at(12)).has_value());
  for (int ms = 0; ms <= 60000; ms += 10) {
    rate.add(100 + static_cast<std::uint64_t>(ms) / 10, at(20) + milliseconds(ms));
  }
  BOOST_TEST(std::abs(rate.per_second(at(80)).value() - 100) < 2);
  BOOST_TEST(rate.step() == 6100u);
}

}  // namespace
}  // namespace troupe
