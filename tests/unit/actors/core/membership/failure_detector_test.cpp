// SPDX-License-Identifier: Apache-2.0
#include "actors/core/membership/failure_detector.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>

namespace troupe {
namespace {

using Clock = FailureDetector::Clock;
using namespace std::chrono_literals;

struct Fixture {
  void regular(int count, Millis interval = 600ms) {
    for (int i = 0; i < count; ++i) detector.heard(now += interval);
  }
  /// How long a silence from now on is before it is suspicious, in steps of 10 ms.
  [[nodiscard]] Millis patience() const {
    auto silence = 0ms;
    while (!detector.suspects(now + silence)) silence += 10ms;
    return silence;
  }

  Clock::time_point now{};
  FailureDetector detector{DetectorOptions{}, now};
};

BOOST_FIXTURE_TEST_CASE(suspicion_grows_with_silence, Fixture) {
  regular(50);
  double before = detector.phi(now);
  BOOST_TEST(before < 0.01);
  for (auto silence = 3s; silence <= 10s; silence += 1s) {
    const double phi = detector.phi(now + silence);
    BOOST_TEST((phi > before || std::isinf(phi)));
    before = phi;
  }
}

BOOST_FIXTURE_TEST_CASE(two_seconds_of_silence_are_a_busy_machine, Fixture) {
  BOOST_TEST(!detector.suspects(now + 2s));  // before anything was heard, too
  regular(50);
  BOOST_TEST(!detector.suspects(now + 2s));
  BOOST_TEST(!detector.suspects(now + 2750ms));
}

BOOST_FIXTURE_TEST_CASE(regular_signs_make_a_silence_of_four_seconds_suspicious, Fixture) {
  BOOST_TEST(patience().count() <= 4000);
  regular(50);
  BOOST_TEST(patience().count() <= 4000);
  BOOST_TEST(patience().count() >= 3000);
}

BOOST_FIXTURE_TEST_CASE(who_has_been_irregular_is_given_more_time_but_not_for_ever, Fixture) {
  regular(50);
  const auto before = patience();
  regular(5, 2000ms);
  regular(45);
  BOOST_TEST(patience().count() > before.count());
  regular(100, 5000ms);
  BOOST_TEST(patience().count() == DetectorOptions{}.longest_silence.count());
}

BOOST_FIXTURE_TEST_CASE(old_intervals_are_forgotten, Fixture) {
  regular(100);
  const auto before = patience();
  regular(20, 3000ms);
  regular(100);
  BOOST_TEST(patience().count() == before.count());
}

BOOST_FIXTURE_TEST_CASE(signs_in_bursts_do_not_make_it_nervous, Fixture) {
  for (int i = 0; i < 100; ++i) detector.heard(now += 1ms);
  BOOST_TEST(!detector.suspects(now + 2s));
}

BOOST_FIXTURE_TEST_CASE(phi_is_the_upper_tail_of_a_normal_distribution, Fixture) {
  regular(50);
  // Mean 600 + 2000 ms, deviation 100 ms: at the mean 1/2, at three deviations 0.00135.
  BOOST_TEST(detector.phi(now + 2600ms) == 0.30103, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(detector.phi(now + 2900ms) == 2.8697, boost::test_tools::tolerance(1e-3));
}

BOOST_FIXTURE_TEST_CASE(silence_while_this_node_itself_did_not_run_says_nothing, Fixture) {
  regular(50);
  now += 60s;
  BOOST_TEST(detector.suspects(now));
  detector.excuse(60s);
  BOOST_TEST(!detector.suspects(now));
  BOOST_TEST(detector.suspects(now + 4s));
}

BOOST_FIXTURE_TEST_CASE(a_clock_that_goes_back_does_no_harm, Fixture) {
  regular(50);
  detector.heard(now - 10s);
  BOOST_TEST(!detector.suspects(now + 2s));
  BOOST_TEST(detector.suspects(now + 5s));
}

}  // namespace
}  // namespace troupe
