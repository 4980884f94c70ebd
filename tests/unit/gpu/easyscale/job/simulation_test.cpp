// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gpu/easyscale/job/simulation.hpp"

#include "gpu/easyscale/job/sampler.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <set>

namespace troupe::easyscale::test {
namespace {

// The same job with one trainer that nobody disturbs.
Finding undisturbed(Scenario scenario) {
  scenario.count = 1;
  scenario.kill = nullptr;
  scenario.faults.clear();
  scenario.comes_up = scenario.comes_back = [](Member, int) { return true; };
  return Simulation(scenario).run();
}

// `fewer`: not all of the trainers were there all the time.
void check(const Scenario& scenario, const Finding& found, const Finding& reference,
           bool fewer = false) {
  const std::string replay = "; replay with TROUPE_SEED=" + std::to_string(scenario.seed) +
                             " unit_gpu_easyscale_job --run_test=any_deaths_*, " +
                             std::to_string(scenario.count) + " trainers, " +
                             std::to_string(scenario.ranks) + " ranks";
  BOOST_REQUIRE_MESSAGE(found.finished && found.trouble.empty(), found.trouble << replay);
  BOOST_TEST(found.sha256 == reference.sha256, "other parameters" << replay);
  BOOST_TEST(found.test_accuracy == reference.test_accuracy, "other accuracy" << replay);
  const std::uint64_t steps = scenario.steps_per_epoch * scenario.epochs;
  BOOST_REQUIRE_MESSAGE(found.steps.size() == steps, "a step reported twice or never" << replay);
  for (std::uint64_t i = 0; i < steps; ++i) {
    BOOST_TEST(found.steps[i].step == i + 1);
    BOOST_TEST(found.steps[i].loss == reference.steps[i].loss);
    BOOST_TEST(found.steps[i].accuracy == reference.steps[i].accuracy);
  }
  BOOST_REQUIRE_MESSAGE(found.epochs.size() == scenario.epochs, "an epoch is missing" << replay);
  for (std::uint64_t i = 0; i < scenario.epochs; ++i) {
    BOOST_TEST((found.epochs[i].loss == reference.epochs[i].loss));
    BOOST_TEST(found.epochs[i].test_accuracy == reference.epochs[i].test_accuracy);
  }
  std::uint64_t again = 0;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const auto times = found.commits.find(i);
    BOOST_REQUIRE_MESSAGE(times != found.commits.end(), "a step was left out" << replay);
    again += static_cast<std::uint64_t>(times->second - 1);
  }
  // A committed step is only ever redone when all trainers died before it was saved.
  if (!fewer) BOOST_TEST(again <= found.kills / scenario.count, "redone " << again << replay);
  BOOST_TEST(found.redone <= found.kills, "redone " << found.redone << replay);
  // What was computed twice is counted, and nothing is computed twice for a join.
  BOOST_TEST(found.work_redone <= found.redone, "computed again " << found.work_redone << replay);
}

BOOST_AUTO_TEST_CASE(any_number_of_trainers_gives_the_same_parameters) {
  for (const Rank ranks : {1U, 5U, 8U}) {
    for (const std::uint32_t count : {1U, 2U, 3U, 8U}) {
      Scenario scenario;
      scenario.count = count;
      scenario.ranks = ranks;
      const Finding found = Simulation(scenario).run();
      BOOST_TEST(found.redone == 0U);
      check(scenario, found, undisturbed(scenario));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_death_before_any_act_whatever_changes_nothing) {
  for (const std::uint32_t count : {1U, 2U, 3U}) {
    Scenario scenario;
    scenario.count = count;
    scenario.steps_per_epoch = 2;
    const Finding reference = undisturbed(scenario);
    const std::uint64_t acts = Simulation(scenario).run().acts;
    for (std::uint64_t victim = 0; victim < acts; ++victim) {
      scenario.kill = [&](std::uint64_t act, std::mt19937&) { return act == victim; };
      const Finding found = Simulation(scenario).run();
      BOOST_TEST(found.kills == 1U);
      check(scenario, found, reference);
    }
  }
}

BOOST_AUTO_TEST_CASE(any_deaths_in_any_order_of_messages_change_nothing) {
  const char* only = std::getenv("TROUPE_SEED");
  const unsigned first = only ? static_cast<unsigned>(std::atoi(only)) : 1;
  const unsigned last = only ? first : std::getenv("TROUPE_LONG") ? 100000 : 1500;
  std::uint64_t kills = 0;
  std::uint64_t lost_commits = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    Scenario scenario;
    scenario.seed = seed;
    scenario.count = 1 + seed % 5;
    scenario.ranks = 1 + (seed / 5) % 6;
    scenario.reducer = seed % 2 == 0 ? Reducer::tree : Reducer::int64;
    std::uint64_t left = 1 + seed % 9;
    scenario.kill = [&left](std::uint64_t, std::mt19937& random) {
      if (left == 0 || random() % 25 != 0) return false;
      --left;
      return true;
    };
    const Finding found = Simulation(scenario).run();
    check(scenario, found, undisturbed(scenario));
    kills += found.kills;
    for (const auto& [step, times] : found.commits) lost_commits += times > 1 ? 1 : 0;
  }
  if (only) return;
  BOOST_TEST(kills > 1000U);
  BOOST_TEST(lost_commits > 3U);  // the hard case did come up
}

BOOST_AUTO_TEST_CASE(any_deaths_of_members_that_may_not_come_up_or_back_leave_the_rest_going) {
  const char* only = std::getenv("TROUPE_SEED");
  const unsigned first = only ? static_cast<unsigned>(std::atoi(only)) : 1;
  const unsigned last = only ? first : std::getenv("TROUPE_LONG") ? 100000 : 1500;
  unsigned finished = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    Scenario scenario;
    scenario.seed = seed;
    scenario.count = 1 + seed % 5;
    scenario.ranks = 1 + (seed / 5) % 6;
    scenario.reducer = seed % 2 == 0 ? Reducer::tree : Reducer::int64;
    scenario.trainee = [](Member) { return make_fake_trainee(0); };  // whoever starts the job
    std::uint64_t left = seed % 7;
    scenario.kill = [&left](std::uint64_t, std::mt19937& random) {
      if (left == 0 || random() % 40 != 0) return false;
      --left;
      return true;
    };
    const auto chance = [seed](Member member, int start, unsigned what) {
      return random_at(random_at(seed, member), 4 * static_cast<unsigned>(start) + what);
    };
    scenario.comes_up = [=](Member m, int start) { return chance(m, start, 0) % 3 != 0; };
    scenario.comes_back = [=](Member m, int start) { return chance(m, start, 1) % 4 != 0; };
    const Finding found = Simulation(scenario).run();
    if (found.finished) {
      ++finished;
      check(scenario, found, undisturbed(scenario), true);
    } else {
      const std::string words = "all trainers have ended and none is started again";
      BOOST_TEST(found.all_gone, "seed " << seed << ": " << found.trouble);
      BOOST_TEST(found.trouble.starts_with(words), "seed " << seed << ": " << found.trouble);
    }
  }
  if (only) return;
  BOOST_TEST(finished > last / 2);
  BOOST_TEST(finished < last - 50);  // it did happen that nobody was left
}

// Whatever was reported, perhaps by several coordinators, is the same as with one.
void check_succession(const Scenario& scenario, const Finding& found, const Finding& reference) {
  const std::string replay = "; replay with TROUPE_SEED=" + std::to_string(scenario.seed) +
                             " unit_gpu_easyscale_job --run_test=any_loss_of_coordinators_*";
  BOOST_REQUIRE_MESSAGE(found.finished && found.trouble.empty(), found.trouble << replay);
  BOOST_TEST(found.sha256 == reference.sha256, "other parameters" << replay);
  BOOST_TEST(found.test_accuracy == reference.test_accuracy, "other accuracy" << replay);
  std::set<std::uint64_t> steps;
  for (const auto& step : found.steps) {
    const auto& expected = reference.steps.at(step.step - 1);
    BOOST_TEST((step.loss == expected.loss && step.accuracy == expected.accuracy),
               "step " << step.step << replay);
    steps.insert(step.step);
  }
  BOOST_TEST(steps.size() == reference.steps.size(), "a step was never reported" << replay);
  std::set<std::uint64_t> epochs;
  for (const auto& epoch : found.epochs) {
    BOOST_TEST(epoch.test_accuracy == reference.epochs.at(epoch.epoch - 1).test_accuracy);
    epochs.insert(epoch.epoch);
  }
  BOOST_TEST(epochs.size() == reference.epochs.size(), "an epoch was never measured" << replay);
  BOOST_TEST(found.work_redone <= found.kills + found.coordinators - 1,
             "computed again " << found.work_redone << replay);
}

BOOST_AUTO_TEST_CASE(any_loss_of_coordinators_and_trainers_changes_nothing) {
  using Fate = Scenario::Fate;
  const char* only = std::getenv("TROUPE_SEED");
  const unsigned first = only ? static_cast<unsigned>(std::atoi(only)) : 1;
  const unsigned last = only ? first : std::getenv("TROUPE_LONG") ? 100000 : 1500;
  std::uint64_t coordinators = 0;
  for (unsigned seed = first; seed <= last; ++seed) {
    Scenario scenario;
    scenario.seed = seed;
    scenario.count = 1 + seed % 5;
    scenario.ranks = 1 + (seed / 5) % 6;
    std::uint64_t deaths = seed % 3 == 0 ? 0 : seed % 7;
    std::uint64_t successions = 1 + seed % 4;
    scenario.kill = [&deaths](std::uint64_t, std::mt19937& random) {
      if (deaths == 0 || random() % 30 != 0) return false;
      --deaths;
      return true;
    };
    scenario.coordinator = [&successions](std::uint64_t, std::mt19937& random) {
      if (successions == 0 || random() % 20 != 0) return Fate::lives;
      --successions;
      return random() % 2 == 0 ? Fate::dies : Fate::is_replaced;
    };
    const Finding found = Simulation(scenario).run();
    scenario.coordinator = nullptr;
    check_succession(scenario, found, undisturbed(scenario));
    coordinators += found.coordinators - 1;
  }
  if (!only) BOOST_TEST(coordinators > 1500U);
}

BOOST_AUTO_TEST_CASE(each_requested_fault_fires_once_and_changes_nothing) {
  for (const auto phase : {FaultPhase::forward, FaultPhase::exchange, FaultPhase::optimizer}) {
    for (const std::uint32_t count : {1U, 3U, 6U}) {
      for (std::uint64_t step = 0; step < 6; ++step) {
        Scenario scenario;
        scenario.count = count;
        scenario.seed = static_cast<unsigned>(100 * step + count);
        scenario.faults = {{step, phase, static_cast<Member>(step % count)}};
        const Finding found = Simulation(scenario).run();
        BOOST_TEST(found.kills == 1U, to_string(phase) << " in step " << step);
        check(scenario, found, undisturbed(scenario));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(two_and_all_at_once_may_die) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    Scenario scenario;
    scenario.seed = seed;
    scenario.faults = {{2, FaultPhase::exchange, 0}, {2, FaultPhase::forward, 1}};
    const Finding two = Simulation(scenario).run();
    BOOST_TEST(two.kills == 2U);
    check(scenario, two, undisturbed(scenario));
    scenario.faults = {{4, FaultPhase::optimizer, 0},
                       {4, FaultPhase::optimizer, 1},
                       {4, FaultPhase::optimizer, 2}};
    const Finding all = Simulation(scenario).run();
    BOOST_TEST(all.kills == 3U);
    check(scenario, all, undisturbed(scenario));
  }
}

}  // namespace
}  // namespace troupe::easyscale::test
