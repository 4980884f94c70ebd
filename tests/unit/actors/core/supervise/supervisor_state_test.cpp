// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/supervisor_state.hpp"

#include <boost/test/unit_test.hpp>

#include <map>

namespace troupe::supervise {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A supervisor whose children do what the test says; effects become one line of text.
struct Stage {
  explicit Stage(Strategy strategy, std::size_t children = 3,
                 RestartBudget budget = {5, seconds(60)}) {
    rules.path = "/jobs/x";
    rules.strategy = strategy;
    rules.budget = budget;
    for (std::size_t i = 0; i < children; ++i) rules.children.push_back({name(i), {}, {}, {}});
  }
  static std::string name(std::size_t i) { return "/jobs/x/" + std::string(1, char('a' + i)); }

  std::string tell(const News& news) {
    if (!state) state.emplace(rules);
    std::string text;
    for (const auto& effect : state->step(news, now)) {
      text +=
          (text.empty() ? "" : " ") + std::visit([&](const auto& e) { return show(e); }, effect);
    }
    return text;
  }
  std::string begin_and_come() {
    auto text = tell(Begin{});
    for (std::size_t i = 0; i < rules.children.size(); ++i) text += tell(Came{i, lives[i]});
    return text;
  }
  std::string came(std::size_t child) { return tell(Came{child, lives[child]}); }
  std::string crash(std::size_t child, const std::string& why = "boom", std::string lost = {}) {
    return tell(Ended{child, lives[child], {ErrorCode::internal, why}, false, std::move(lost)});
  }
  std::string end(std::size_t child) {
    return tell(Ended{child, lives[child], {ErrorCode::aborted, "ended normally"}, true, {}});
  }
  std::string tick_at_wake() {
    if (!state->wake()) return "nothing to wait for";
    now = *state->wake();
    return tell(Tick{});
  }

  std::string show(const Start& e) {
    lives[e.child] = e.life;
    return "start " + letter(e.child);
  }
  std::string show(const Ask& e) {
    why = e.why.what;
    return "ask " + letter(e.child);
  }
  std::string show(const Kill& e) {
    why = e.why.what;
    return "kill " + letter(e.child);
  }
  std::string show(const Wait& e) {
    delay = e.delay;
    return "wait " + letter(e.child);
  }
  std::string show(const Finish& e) {
    why = e.error ? e.error->what : "";
    return e.error ? "give up" : "finish";
  }
  static std::string letter(std::size_t child) { return {char('a' + child)}; }

  Rules rules;
  std::optional<State> state;
  Time now{};
  std::map<std::size_t, std::uint64_t> lives;
  std::string why;
  Millis delay{0};
};

BOOST_AUTO_TEST_CASE(one_for_one_starts_the_child_that_ended_and_no_other) {
  Stage stage(Strategy::one_for_one);
  BOOST_TEST(stage.begin_and_come() == "start a start b start c");
  BOOST_TEST(stage.crash(1) == "start b");
  BOOST_TEST(stage.lives[1] == 2u);
}

BOOST_AUTO_TEST_CASE(one_for_all_stops_the_others_from_the_last_to_the_first_and_starts_all) {
  Stage stage(Strategy::one_for_all);
  stage.begin_and_come();
  BOOST_TEST(stage.crash(1) == "ask c");
  BOOST_TEST(stage.why == "stopped to start again with /jobs/x/b, which ended: boom");
  BOOST_TEST(stage.state->comes_back(2, true));
  BOOST_TEST(stage.end(2) == "ask a");
  BOOST_TEST(stage.end(0) == "start a start b start c");
}

BOOST_AUTO_TEST_CASE(rest_for_one_leaves_those_before_it_alone) {
  Stage stage(Strategy::rest_for_one, 4);
  stage.begin_and_come();
  BOOST_TEST(stage.crash(1) == "ask d");
  BOOST_TEST(stage.end(3) == "ask c");
  BOOST_TEST(stage.end(2) == "start b start c start d");
  BOOST_TEST(stage.lives[0] == 1u);
}

BOOST_AUTO_TEST_CASE(an_earlier_child_that_ends_meanwhile_widens_what_is_restarted) {
  Stage stage(Strategy::rest_for_one, 4);
  stage.begin_and_come();
  BOOST_TEST(stage.crash(2) == "ask d");
  BOOST_TEST(stage.crash(0) == "");  // d is still being stopped
  BOOST_TEST(stage.end(3) == "ask b");
  BOOST_TEST(stage.end(1) == "start a start b start c start d");
}

BOOST_AUTO_TEST_CASE(a_member_of_the_set_that_ends_by_itself_spends_nothing) {
  Stage stage(Strategy::one_for_all, 3, {1, seconds(60)});
  stage.begin_and_come();
  BOOST_TEST(stage.crash(0) == "ask c");
  BOOST_TEST(stage.crash(1) == "");
  BOOST_TEST(stage.crash(2) == "start a start b start c");
}

BOOST_AUTO_TEST_CASE(temporary_children_stopped_with_others_stay_down) {
  Stage stage(Strategy::one_for_all);
  stage.rules.children[2].restart = Restart::temporary;
  stage.begin_and_come();
  BOOST_TEST(stage.crash(0) == "ask c");
  BOOST_TEST(!stage.state->comes_back(2, true));
  BOOST_TEST(stage.end(2) == "ask b");
  BOOST_TEST(stage.end(1) == "start a start b");
}

BOOST_AUTO_TEST_CASE(who_ended_for_good_restarts_nobody) {
  Stage stage(Strategy::one_for_all);
  stage.rules.children[0].restart = Restart::transient;
  stage.rules.children[1].restart = Restart::temporary;
  stage.begin_and_come();
  BOOST_TEST(stage.end(0) == "");
  BOOST_TEST(stage.crash(1) == "");
}

BOOST_AUTO_TEST_CASE(stops_in_reverse_order_and_waits_for_each) {
  Stage stage(Strategy::one_for_one);
  stage.begin_and_come();
  BOOST_TEST(stage.tell(Stop{}) == "ask c");
  BOOST_TEST(stage.tell(Stop{}) == "");
  BOOST_TEST(!stage.state->comes_back(0, false));
  BOOST_TEST(stage.end(2) == "ask b");
  BOOST_TEST(stage.crash(0) == "");  // restarts nobody any more
  BOOST_TEST(stage.end(1) == "finish");
  BOOST_TEST(stage.tell(Begin{}) == "");
}

BOOST_AUTO_TEST_CASE(kills_who_does_not_stop_within_its_limit) {
  Stage stage(Strategy::one_for_one, 2);
  stage.rules.children[1].shutdown = {Millis(500)};
  stage.begin_and_come();
  BOOST_TEST(stage.tell(Stop{}) == "ask b");
  stage.now += milliseconds(499);
  BOOST_TEST(stage.tell(Tick{}) == "");
  BOOST_TEST(stage.tick_at_wake() == "kill b");
  BOOST_TEST(stage.why == "killed: it did not stop within 500 ms");
  BOOST_CHECK(stage.now == Time{} + milliseconds(500));
  BOOST_TEST(stage.crash(1) == "ask a");
}

BOOST_AUTO_TEST_CASE(brutal_is_not_asked_and_infinity_is_never_killed) {
  Stage stage(Strategy::one_for_one, 2);
  stage.rules.children[0].shutdown = Shutdown::infinity();
  stage.rules.children[1].shutdown = Shutdown::brutal();
  stage.begin_and_come();
  BOOST_TEST(stage.tell(Stop{}) == "kill b");
  BOOST_TEST(stage.crash(1) == "ask a");
  BOOST_TEST(stage.tick_at_wake() == "nothing to wait for");
}

BOOST_AUTO_TEST_CASE(who_comes_up_after_it_was_asked_to_stop_is_asked_again) {
  Stage stage(Strategy::one_for_one, 1);
  stage.tell(Begin{});
  BOOST_TEST(stage.tell(Stop{}) == "ask a");
  BOOST_TEST(stage.came(0) == "ask a");
  BOOST_TEST(stage.end(0) == "finish");
}

BOOST_AUTO_TEST_CASE(news_of_an_earlier_life_are_ignored) {
  Stage stage(Strategy::one_for_one, 1);
  stage.begin_and_come();
  stage.crash(0);
  BOOST_TEST(stage.tell(Ended{0, 1, {}, false, {}}) == "");
  BOOST_TEST(stage.tell(Came{0, 1}) == "");
  BOOST_TEST(stage.tell(Ended{7, 1, {}, false, {}}) == "");
}

BOOST_AUTO_TEST_CASE(gives_up_in_order_when_the_budget_is_spent_and_names_the_first_cause) {
  Stage stage(Strategy::one_for_one, 3, {1, seconds(60)});
  stage.begin_and_come();
  BOOST_TEST(stage.crash(1) == "start b");
  stage.came(1);
  BOOST_TEST(stage.crash(1, "process 7: killed by signal 9") == "ask c");
  BOOST_TEST(stage.state->comes_back(2, true));
  BOOST_TEST(stage.end(2) == "ask a");
  BOOST_TEST(stage.end(0) == "give up");
  BOOST_TEST(stage.why ==
             "/jobs/x gave up: /jobs/x/b ended too often; the last time: process 7: killed by "
             "signal 9");
}

BOOST_AUTO_TEST_CASE(those_that_were_lost_with_one_node_spend_one_restart) {
  Stage stage(Strategy::one_for_one, 3, {1, seconds(60)});
  stage.begin_and_come();
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(stage.crash(i, "node n1 is down", "n1/1") == "start " + Stage::letter(i));
  }
  BOOST_TEST(stage.crash(0, "node n2 is down", "n2/1") == "ask c");
}

BOOST_AUTO_TEST_CASE(the_first_restart_comes_at_once_and_the_others_ever_later) {
  Stage stage(Strategy::one_for_one, 1, {100, seconds(60)});
  stage.begin_and_come();
  BOOST_TEST(stage.crash(0) == "start a");
  milliseconds expected(100);
  for (int i = 0; i < 12; ++i) {
    stage.came(0);
    BOOST_TEST(stage.crash(0) == "wait a");
    const auto most = std::min<std::int64_t>(expected.count() * 5 / 4, 30000);
    BOOST_TEST(stage.delay.count() >= expected.count() * 3 / 4);
    BOOST_TEST(stage.delay.count() <= most);
    BOOST_CHECK(*stage.state->wake() == stage.now + stage.delay);
    BOOST_TEST(stage.tick_at_wake() == "start a");
    expected = std::min(expected * 2, milliseconds(30000));
  }
}

BOOST_AUTO_TEST_CASE(a_calm_life_makes_the_next_restart_immediate_again) {
  Stage stage(Strategy::one_for_one, 1, {100, seconds(60)});
  stage.begin_and_come();
  stage.crash(0);
  stage.came(0);
  stage.now += stage.rules.children[0].back_off.calm;
  BOOST_TEST(stage.crash(0) == "start a");
  stage.came(0);
  BOOST_TEST(stage.crash(0) == "wait a");
}

BOOST_AUTO_TEST_CASE(jitter_follows_from_the_seed_and_the_child) {
  const auto delay = [](std::uint64_t seed, std::size_t child) {
    Stage stage(Strategy::one_for_one, 2, {100, seconds(60)});
    stage.rules.seed = seed;
    for (auto& one : stage.rules.children) one.back_off.first = seconds(10);
    stage.begin_and_come();
    for (int i = 0; i < 2; ++i) stage.crash(child);
    return stage.delay;
  };
  BOOST_CHECK(delay(1, 0) == delay(1, 0));
  BOOST_CHECK(delay(1, 0) != delay(2, 0));
  BOOST_CHECK(delay(1, 0) != delay(1, 1));
}

BOOST_AUTO_TEST_CASE(a_set_that_waits_for_its_restart_is_not_started_before) {
  Stage stage(Strategy::one_for_all, 2, {100, seconds(60)});
  stage.begin_and_come();
  stage.crash(0);
  BOOST_TEST(stage.end(1) == "start a start b");
  BOOST_TEST(stage.crash(0) == "wait a ask b");
  BOOST_TEST(stage.end(1) == "");
  BOOST_TEST(stage.tell(Tick{}) == "");
  BOOST_TEST(stage.tick_at_wake() == "start a start b");
}

BOOST_AUTO_TEST_CASE(told_to_stop_while_a_restart_waits_it_starts_nobody) {
  Stage stage(Strategy::one_for_one, 1, {100, seconds(60)});
  stage.begin_and_come();
  stage.crash(0);
  BOOST_TEST(stage.crash(0) == "wait a");
  BOOST_TEST(stage.tell(Stop{}) == "finish");
  BOOST_TEST(stage.tick_at_wake() == "nothing to wait for");
}

BOOST_AUTO_TEST_CASE(ends_when_nobody_is_left_who_should_live) {
  Stage stage(Strategy::one_for_one, 2);
  for (auto& child : stage.rules.children) child.restart = Restart::transient;
  stage.begin_and_come();
  BOOST_TEST(stage.end(0) == "");
  BOOST_TEST(stage.end(1) == "finish");
}

}  // namespace
}  // namespace troupe::supervise
