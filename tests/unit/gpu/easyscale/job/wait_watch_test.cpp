// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/wait_watch.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::easyscale {
namespace {

constexpr Seconds start{100};

std::string said(WaitWatch& watch, const JobState& job, double after) {
  return watch.tick(job, start + Seconds(after)).value_or("");
}

BOOST_AUTO_TEST_CASE(a_job_that_stands_still_says_for_what_once_and_every_ten_seconds) {
  const JobState job(JobPlan{2, 4, 1, {}});
  WaitWatch watch(start);
  BOOST_TEST(said(watch, job, 1.9).empty());
  BOOST_TEST(said(watch, job, 2) == "trainer 0, trainer 1 to come up");
  BOOST_TEST(said(watch, job, 3).empty());
  BOOST_TEST(said(watch, job, 11.9).empty());
  BOOST_TEST(said(watch, job, 12) == "trainer 0, trainer 1 to come up");
  BOOST_TEST(said(watch, job, 13).empty());
}

BOOST_AUTO_TEST_CASE(a_job_that_moves_says_nothing_and_one_that_stops_again_does) {
  const JobState job(JobPlan{1, 4, 1, {}});
  WaitWatch watch(start);
  BOOST_TEST(!said(watch, job, 2).empty());
  watch.moved(start + Seconds(3));
  BOOST_TEST(said(watch, job, 4.5).empty());
  BOOST_TEST(said(watch, job, 5) == "trainer 0 to come up");
}

BOOST_AUTO_TEST_CASE(another_reason_to_wait_is_said_at_once) {
  JobState job(JobPlan{2, 4, 1, {}});
  WaitWatch watch(start);
  BOOST_TEST(!said(watch, job, 2).empty());
  job.peers[0].comes_back = false;
  BOOST_TEST(said(watch, job, 3) == "trainer 1 to come up");
}

BOOST_AUTO_TEST_CASE(a_job_that_is_over_waits_for_nothing) {
  JobState job(JobPlan{1, 4, 1, {}});
  WaitWatch watch(start);
  job.phase = JobState::Phase::done;
  BOOST_TEST(said(watch, job, 60).empty());
}

}  // namespace
}  // namespace troupe::easyscale
