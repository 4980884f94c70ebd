// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/job_state.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe::easyscale {
namespace {

constexpr Seconds now{0};

Hello hello(std::optional<std::uint64_t> resume = std::nullopt) {
  return {2, 10, 4, 0, "cpu", resume};
}

template <class Effect>
std::vector<Effect> all_of(const JobEffects& effects) {
  std::vector<Effect> out;
  for (const JobEffect& one : effects) {
    if (const auto* effect = std::get_if<Effect>(&one)) out.push_back(*effect);
  }
  return out;
}

std::string failure(const JobEffects& effects) {
  const auto failures = all_of<effect::Fail>(effects);
  return failures.empty() ? "" : failures.front().error.what;
}

JobEffects ready(JobState& job, Member member) {
  input::Ready in{member, job.view.generation, job.step, {}};
  const RankRange own = job.view.ranges[*job.view.slot_of(member)];
  for (Rank rank = own.first; rank < own.end(); ++rank)
    in.ranks.push_back({rank, 1.0 + rank, 1, 4});
  return step(job, in, now);
}

JobState started(std::uint32_t count, std::uint64_t epochs = 1) {
  JobState job(JobPlan{count, 4, epochs, {}});
  for (Member m = 0; m < count; ++m) static_cast<void>(step(job, input::Joined{m, hello()}, now));
  return job;
}

BOOST_AUTO_TEST_CASE(it_starts_when_all_are_up_from_the_first_ones_state) {
  JobState job(JobPlan{2, 4, 1, {}});
  BOOST_TEST(step(job, input::Joined{1, hello()}, now).empty());
  BOOST_TEST(waiting_for(job) == "trainer 0 to come up");
  const auto views = all_of<effect::SendView>(step(job, input::Joined{0, hello()}, now));
  BOOST_REQUIRE(views.size() == 2U);
  BOOST_TEST(views[0].view.donor == 0U);
  BOOST_TEST((views[0].view.joiners == std::vector<Member>{1}));
  BOOST_TEST((views[0].view.ranges[1] == RankRange{2, 2}));
}

BOOST_AUTO_TEST_CASE(a_step_is_committed_when_all_are_ready_and_losses_are_summed_in_rank_order) {
  JobState job = started(2);
  BOOST_TEST(ready(job, 1).empty());
  BOOST_TEST(waiting_for(job) == "trainer 0 in step 0");
  const auto effects = ready(job, 0);
  BOOST_TEST(all_of<effect::SendCommit>(effects).size() == 2U);
  const auto steps = all_of<effect::ReportStep>(effects);
  BOOST_REQUIRE(steps.size() == 1U);
  BOOST_TEST(steps[0].loss == 2.5);
  BOOST_TEST(steps[0].accuracy == 0.25);
}

BOOST_AUTO_TEST_CASE(survivors_redo_the_step_and_a_newcomer_joins_after_the_next_commit) {
  JobState job = started(3);
  static_cast<void>(ready(job, 0));
  const auto again = step(job, input::Left{1, "killed", true}, now);
  const auto views = all_of<effect::SendView>(again);
  BOOST_REQUIRE(views.size() == 2U);
  BOOST_TEST((views[0].view.members == std::vector<Member>{0, 2}));
  BOOST_TEST(views[0].view.step == 0U);
  BOOST_TEST(all_of<effect::ReportView>(again).front().why == "trainer 1 left: killed");
  static_cast<void>(step(job, input::Holds{2, job.view.generation, 0}, now));
  BOOST_TEST(step(job, input::Joined{1, hello(0)}, now).empty());
  static_cast<void>(ready(job, 0));
  const auto commit = ready(job, 2);
  const auto joined = all_of<effect::SendView>(commit);
  BOOST_REQUIRE(joined.size() == 3U);
  BOOST_TEST(joined[0].view.step == 1U);
  BOOST_TEST((joined[0].view.joiners == std::vector<Member>{1}));
  BOOST_TEST(joined[0].view.donor == 0U);
}

BOOST_AUTO_TEST_CASE(the_newest_saved_state_is_resumed_when_all_have_died) {
  JobState job = started(2);
  static_cast<void>(ready(job, 0));
  static_cast<void>(ready(job, 1));
  BOOST_TEST(job.step == 1U);
  static_cast<void>(step(job, input::Left{0, "killed", true}, now));
  static_cast<void>(step(job, input::Left{1, "killed", true}, now));
  static_cast<void>(step(job, input::Joined{1, hello()}, now));
  // Both may have looked while others were still saving, so they look again.
  BOOST_TEST(all_of<effect::AskHeld>(step(job, input::Joined{0, hello(0)}, now)).size() == 1U);
  const auto generation = job.view.generation;
  static_cast<void>(step(job, input::Holds{1, generation, std::nullopt}, now));
  const auto effects = step(job, input::Holds{0, generation, 0}, now);
  const auto views = all_of<effect::SendView>(effects);
  BOOST_REQUIRE(views.size() == 2U);
  BOOST_TEST(views[0].view.step == 0U);
  BOOST_TEST(views[0].view.donor == 0U);
}

BOOST_AUTO_TEST_CASE(a_job_goes_on_from_a_state_that_its_trainers_bring_along) {
  JobState job(JobPlan{2, 4, 2, {}});
  static_cast<void>(step(job, input::Joined{0, hello(1)}, now));
  const auto begin = step(job, input::Joined{1, hello(1)}, now);
  const auto views = all_of<effect::SendView>(begin);
  BOOST_REQUIRE(views.size() == 2U);
  BOOST_TEST(views[0].view.step == 1U);
  BOOST_TEST(all_of<effect::AskEvaluate>(begin).empty());
  static_cast<void>(step(job, input::Holds{1, job.view.generation, 1}, now));
  static_cast<void>(ready(job, 0));
  const auto commit = ready(job, 1);
  BOOST_TEST(all_of<effect::ReportStep>(commit).front().step == 2U);
  const auto ask = all_of<effect::AskEvaluate>(commit);
  BOOST_REQUIRE(ask.size() == 1U);
  const auto epoch =
      all_of<effect::ReportEpoch>(step(job, input::Evaluated{ask[0].to, 0, 9, 10}, now));
  BOOST_REQUIRE(epoch.size() == 1U);
  BOOST_TEST(epoch[0].loss.value() == 2.5);  // of the step that it did itself
}

BOOST_AUTO_TEST_CASE(a_state_of_the_last_step_is_measured_and_hashed_and_that_is_all) {
  JobState job(JobPlan{1, 4, 2, {}});
  const auto begin = step(job, input::Joined{0, hello(4)}, now);
  const auto ask = all_of<effect::AskEvaluate>(begin);
  BOOST_REQUIRE(ask.size() == 1U);
  BOOST_TEST(ask[0].epoch == 1U);
  const auto hash = step(job, input::Evaluated{0, 1, 9, 10}, now);
  BOOST_TEST(all_of<effect::AskHash>(hash).size() == 1U);
  const auto end = all_of<effect::Finish>(step(job, input::Hashed{0, "aa", "bb"}, now));
  BOOST_REQUIRE(end.size() == 1U);
  BOOST_TEST(end[0].test_accuracy == 0.9);
  BOOST_TEST(end[0].redone == 0U);
}

BOOST_AUTO_TEST_CASE(a_lost_state_is_an_error_and_not_a_fresh_start) {
  JobState job = started(1);
  static_cast<void>(ready(job, 0));
  static_cast<void>(step(job, input::Left{0, "killed", true}, now));
  static_cast<void>(step(job, input::Joined{0, hello()}, now));
  const input::Holds none{0, job.view.generation, std::nullopt};
  BOOST_TEST(failure(step(job, none, now)) ==
             "the state of step 1 is lost: all trainers died, and none found a saved one");
}

BOOST_AUTO_TEST_CASE(the_job_ends_when_nobody_is_started_again) {
  JobState job = started(2);
  static_cast<void>(step(job, input::Left{0, "killed", false}, now));
  BOOST_TEST(failure(step(job, input::Left{1, "killed", false}, now)) ==
             "all trainers have ended and none is started again; the last one: killed");
}

BOOST_AUTO_TEST_CASE(the_job_starts_without_those_that_never_come_up) {
  JobState job(JobPlan{3, 4, 1, {}});
  static_cast<void>(step(job, input::Joined{2, hello()}, now));
  BOOST_TEST(step(job, input::Left{0, "no memory", true}, now).empty());
  BOOST_TEST(step(job, input::Left{1, "no memory", false}, now).empty());
  BOOST_TEST(waiting_for(job) == "trainer 0 to come up");
  const auto effects = step(job, input::Left{0, "no memory", false}, now);
  const auto views = all_of<effect::SendView>(effects);
  BOOST_REQUIRE(views.size() == 1U);
  BOOST_TEST((views[0].view.members == std::vector<Member>{2}));
}

BOOST_AUTO_TEST_CASE(the_job_fails_with_the_reason_when_nobody_ever_comes_up) {
  JobState job(JobPlan{2, 4, 1, {}});
  BOOST_TEST(step(job, input::Left{1, "no memory", false}, now).empty());
  BOOST_TEST(failure(step(job, input::Left{0, "no such program", false}, now)) ==
             "all trainers have ended and none is started again; the last one: no such program");
}

BOOST_AUTO_TEST_CASE(a_death_costs_one_step_and_a_join_none) {
  JobState job = started(2);
  static_cast<void>(ready(job, 0));
  static_cast<void>(step(job, input::Left{1, "killed", true}, now));
  BOOST_TEST(job.redone == 1U);
  static_cast<void>(step(job, input::Joined{1, hello()}, now));
  static_cast<void>(step(job, input::Left{1, "killed before it was taken in", true}, now));
  static_cast<void>(step(job, input::Joined{1, hello()}, now));
  const auto commits = all_of<effect::SendCommit>(ready(job, 0));
  BOOST_REQUIRE(commits.size() == 1U);
  BOOST_TEST(commits[0].view_follows);
  BOOST_TEST(job.redone == 1U);
}

BOOST_AUTO_TEST_CASE(who_is_waited_for_is_said_in_every_phase) {
  JobState job = started(2);
  static_cast<void>(step(job, input::Left{0, "killed", true}, now));
  static_cast<void>(step(job, input::Joined{0, hello()}, now));
  BOOST_TEST(waiting_for(job) == "trainer 0, trainer 1 to say which step's state it has");
  static_cast<void>(step(job, input::Holds{1, job.view.generation, 0}, now));
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(ready(job, 0));
    static_cast<void>(ready(job, 1));
  }
  BOOST_TEST(waiting_for(job) == "trainer 0 to measure the test accuracy");
  static_cast<void>(step(job, input::Evaluated{0, 0, 9, 10, 0.5}, now));
  static_cast<void>(step(job, input::Hashed{0, "aa", "aa"}, now));
  BOOST_TEST(waiting_for(job) == "trainer 1 to tell the hash of its parameters");
}

BOOST_AUTO_TEST_CASE(trainers_that_would_compute_other_bits_are_refused) {
  JobState job(JobPlan{2, 4, 1, {}});
  static_cast<void>(step(job, input::Joined{0, hello()}, now));
  Hello other = hello();
  other.fingerprint = "gpu";
  BOOST_TEST(failure(step(job, input::Joined{1, other}, now)) ==
             "trainer 1 would compute other bits than the trainers before it: \"gpu\" here, "
             "\"cpu\" there; use machines of one type with the same libraries");
}

BOOST_AUTO_TEST_CASE(unequal_hashes_name_the_trainers) {
  JobState job = started(2);
  for (int i = 0; i < 2; ++i) {
    static_cast<void>(ready(job, 0));
    static_cast<void>(ready(job, 1));
  }
  const auto asked = all_of<effect::AskHash>(step(job, input::Evaluated{0, 0, 9, 10, 0.5}, now));
  BOOST_TEST(asked.size() == 2U);
  BOOST_TEST(step(job, input::Hashed{1, "pp", "bb"}, now).empty());
  BOOST_TEST(failure(step(job, input::Hashed{0, "pp", "aa"}, now)) ==
             "the trainers ended with different states: trainer 0 has aa, trainer 1 has bb");
}

BOOST_AUTO_TEST_CASE(an_epochs_accuracy_is_known_before_the_next_commit) {
  JobState job = started(1, 2);
  static_cast<void>(ready(job, 0));
  const auto asked = all_of<effect::AskEvaluate>(ready(job, 0));
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(ready(job, 0).empty());  // step 2 is ready and has to wait
  const auto effects = step(job, input::Evaluated{0, 0, 9, 10, 0.5}, now);
  BOOST_TEST(all_of<effect::ReportEpoch>(effects).front().test_accuracy == 0.9);
  BOOST_TEST(all_of<effect::ReportEpoch>(effects).front().test_loss == 0.5);
  BOOST_TEST(all_of<effect::SendCommit>(effects).size() == 1U);
}

BOOST_AUTO_TEST_CASE(the_accuracy_is_measured_by_who_has_the_fewest_ranks) {
  JobState job = started(3, 2);
  JobEffects last;
  for (int i = 0; i < 2; ++i) {
    for (Member m = 0; m < 3; ++m) last = ready(job, m);
  }
  const auto asked = all_of<effect::AskEvaluate>(last);
  BOOST_REQUIRE(asked.size() == 1U);
  BOOST_TEST(job.view.ranges[0].count == 2U);
  BOOST_TEST(asked[0].to == 1U);
}

BOOST_AUTO_TEST_CASE(inputs_that_make_no_sense_are_rejected_or_ignored) {
  JobState job = started(2);
  const auto rejects = [&](const JobInput& in) {
    return all_of<effect::Reject>(step(job, in, now)).size();
  };
  BOOST_TEST(rejects(input::Left{7, "", true}) == 1U);
  BOOST_TEST(rejects(input::Ready{0, job.view.generation, 0, {}}) == 1U);
  BOOST_TEST(rejects(input::Ready{0, job.view.generation, 0, {{2, 0, 0, 0}, {3, 0, 0, 0}}}) == 1U);
  BOOST_TEST(step(job, input::Ready{0, job.view.generation + 1, 0, {}}, now).empty());
  BOOST_TEST(step(job, input::Evaluated{0, 0, 1, 1, 0}, now).empty());
  BOOST_TEST(step(job, input::Hashed{0, "aa", "aa"}, now).empty());
  static_cast<void>(ready(job, 0));
  BOOST_TEST(all_of<effect::Reject>(ready(job, 0)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_fault_after_the_last_step_is_an_error) {
  JobState job(JobPlan{1, 4, 1, {{2, FaultPhase::forward, 0}}});
  BOOST_TEST(failure(step(job, input::Joined{0, hello()}, now)) ==
             "--kill-one-at 2: the job has 2 steps, counted from 0");
}

BOOST_AUTO_TEST_CASE(a_trainers_own_error_ends_the_job) {
  JobState job = started(2);
  const Error error{ErrorCode::invalid_argument, "the loss of rank 1 in step 0 is not finite"};
  BOOST_TEST(failure(step(job, input::Failed{1, error}, now)) == "trainer 1: " + error.what);
  BOOST_TEST(step(job, input::Left{1, "", true}, now).empty());
}

}  // namespace
}  // namespace troupe::easyscale
