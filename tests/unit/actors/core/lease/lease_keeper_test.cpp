// SPDX-License-Identifier: Apache-2.0
#include "actors/core/lease/lease_keeper.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using namespace keeper_effect;
namespace event = keeper_event;

BootClock::time_point at(int ms) { return BootClock::time_point(Millis(100000 + ms)); }

template <class T>
const T* find(const KeeperEffects& effects) {
  for (const auto& effect : effects) {
    if (const auto* found = std::get_if<T>(&effect)) return found;
  }
  return nullptr;
}

template <class T>
const T& the(const KeeperEffects& effects) {
  const auto* found = find<T>(effects);
  BOOST_REQUIRE(found != nullptr);
  return *found;
}

const Lease lease{"singleton", "a/1", 7, Millis(10000), 3};
const Error unreachable{ErrorCode::unavailable, "no member answered"};
const Error lost{ErrorCode::aborted, "b/1 holds it"};

/// A keeper of a lease of 10 s that was asked for at 0 and granted at 200 ms.
struct Holding {
  Holding() {
    BOOST_TEST(find<Acquire>(keeper.start(at(0))) != nullptr);
    const auto effects = keeper.step(event::Granted{lease}, at(200));
    BOOST_CHECK((the<Have>(effects).until == at(10000)));  // from before it was sent
    BOOST_CHECK((the<WakeAt>(effects).time == at(3333)));
  }
  KeeperEffects step(const KeeperEvent& what, int ms) { return keeper.step(what, at(ms)); }

  LeaseKeeper keeper{{"singleton", "a/1", Millis(10000)}};
};

BOOST_AUTO_TEST_CASE(a_lease_is_renewed_after_a_third_of_its_time) {
  Holding held;
  BOOST_TEST(find<Renew>(held.step(event::Timer{}, 3000)) == nullptr);
  const auto renews = held.step(event::Timer{}, 3400);
  BOOST_TEST(the<Renew>(renews).lease.generation == 7u);
  const auto renewed = held.step(event::Renewed{}, 3900);
  BOOST_CHECK((the<Extended>(renewed).until == at(13400)));
  BOOST_CHECK((the<WakeAt>(renewed).time == at(3400 + 3333)));
}

BOOST_AUTO_TEST_CASE(a_renewal_that_failed_is_tried_again_until_it_is_time_to_stop) {
  Holding held;
  held.step(event::Timer{}, 3400);
  BOOST_CHECK((the<WakeAt>(held.step(event::Failed{unreachable}, 5000)).time == at(6000)));
  BOOST_TEST(find<Renew>(held.step(event::Timer{}, 6000)) != nullptr);
  held.step(event::Failed{{ErrorCode::timeout, "another reason"}}, 7500);
  const auto stop = held.step(event::Timer{}, 8000);
  BOOST_TEST(the<Stop>(stop).why.what ==
             "lease 'singleton' ends in 2000 ms and could not be renewed: no member answered");
  BOOST_TEST(find<Renew>(stop) == nullptr);
}

BOOST_AUTO_TEST_CASE(who_hears_nothing_from_the_store_stops_in_time_too) {
  Holding held;
  BOOST_CHECK((the<WakeAt>(held.step(event::Timer{}, 3400)).time == at(8000)));
  const auto stop = held.step(event::Timer{}, 8001);
  BOOST_TEST(the<Stop>(stop).why.what.find("has not answered yet") != std::string::npos);
  BOOST_TEST(find<Extended>(held.step(event::Renewed{}, 8500)) == nullptr);  // too late
  BOOST_TEST(find<Release>(held.step(event::ClientStopped{}, 9000)) != nullptr);
  BOOST_CHECK((the<WakeAt>(held.step(event::Released{}, 9100)).time == at(11100)));
  BOOST_TEST(find<Acquire>(held.step(event::Timer{}, 11100)) != nullptr);
}

BOOST_AUTO_TEST_CASE(a_lost_lease_stops_at_once_and_is_not_released) {
  Holding held;
  held.step(event::Timer{}, 3400);
  BOOST_TEST(the<Stop>(held.step(event::Failed{lost}, 3500)).why.what == lost.what);
  const auto stopped = held.step(event::ClientStopped{}, 3600);
  BOOST_TEST(find<Release>(stopped) == nullptr);
  BOOST_CHECK((the<WakeAt>(stopped).time == at(5600)));
}

BOOST_AUTO_TEST_CASE(nothing_is_asked_for_before_the_client_has_stopped) {
  Holding held;
  held.step(event::Timer{}, 3400);
  held.step(event::Failed{lost}, 3500);
  for (int ms = 4000; ms < 60000; ms += 1000) BOOST_TEST(held.step(event::Timer{}, ms).empty());
}

BOOST_AUTO_TEST_CASE(a_grant_that_took_too_long_is_given_back) {
  LeaseKeeper keeper{{"singleton", "a/1", Millis(10000)}};
  keeper.start(at(0));
  const auto effects = keeper.step(event::Granted{lease}, at(8100));
  BOOST_TEST(find<Have>(effects) == nullptr);
  BOOST_CHECK((the<Release>(effects).lease == lease));
  BOOST_CHECK((the<WakeAt>(keeper.step(event::Released{}, at(8200))).time == at(10200)));
}

BOOST_AUTO_TEST_CASE(a_waiting_keeper_says_for_whom_once_and_asks_again) {
  LeaseKeeper keeper{{"singleton", "a/1", Millis(10000)}};
  const Error held{ErrorCode::already_exists, "held by b/1"};
  keeper.start(at(0));
  const auto waits = keeper.step(event::Failed{held}, at(10));
  BOOST_CHECK((the<Waiting>(waits).why == held));
  BOOST_CHECK((the<WakeAt>(waits).time == at(2010)));
  BOOST_TEST(find<Acquire>(keeper.step(event::Timer{}, at(2010))) != nullptr);
  BOOST_TEST(find<Waiting>(keeper.step(event::Failed{held}, at(2020))) == nullptr);
  keeper.step(event::Timer{}, at(5000));
  BOOST_CHECK((the<Waiting>(keeper.step(event::Failed{unreachable}, at(5010))).why == unreachable));
}

BOOST_AUTO_TEST_CASE(the_end_comes_after_the_client_has_stopped_and_the_lease_is_released) {
  Holding held;
  held.step(event::Timer{}, 3400);
  BOOST_TEST(find<Stop>(held.step(event::End{}, 3500)) != nullptr);
  BOOST_TEST(held.step(event::ClientStopped{}, 3600).empty());  // the renewal is still on its way
  BOOST_TEST(find<Release>(held.step(event::Renewed{}, 3700)) != nullptr);
  BOOST_TEST(find<Ended>(held.step(event::Released{}, 3800)) != nullptr);
  BOOST_TEST(held.step(event::Timer{}, 9000).empty());
}

BOOST_AUTO_TEST_CASE(who_ends_while_waiting_ends_at_once_or_with_the_answer) {
  LeaseKeeper keeper{{"singleton", "a/1", Millis(10000)}};
  keeper.start(at(0));
  BOOST_TEST(keeper.step(event::End{}, at(100)).empty());
  BOOST_TEST(find<Release>(keeper.step(event::Granted{lease}, at(200))) != nullptr);
  BOOST_TEST(find<Ended>(keeper.step(event::Released{}, at(300))) != nullptr);

  LeaseKeeper other{{"singleton", "a/1", Millis(10000)}};
  other.start(at(0));
  other.step(event::Failed{unreachable}, at(10));
  BOOST_TEST(find<Ended>(other.step(event::End{}, at(100))) != nullptr);
}

}  // namespace
}  // namespace troupe
