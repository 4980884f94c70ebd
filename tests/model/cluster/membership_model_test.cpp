// SPDX-License-Identifier: Apache-2.0
//
// The membership of 3 to 9 nodes through seeded schedules of faults, against what is true of them:
//   - who is dead, stopped or cut off is noticed by everybody within 6 s, a killed process in 1 s;
//   - an incarnation that was declared down never comes back;
//   - nobody gives up its incarnation whom nobody has declared dead;
//   - when all is well again, everybody sees exactly the living.
// TROUPE_SEED=N runs one schedule, TROUPE_LONG=1 2,000 instead of 200.
#include "tests/model/cluster/member_program.hpp"
#include "tests/model/cluster/schedule.hpp"
#include "tests/model/cluster/seeds.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace troupe::model {
namespace {

constexpr auto noticed_within = Millis(6000);
constexpr auto death_noticed_within = Millis(1000);
constexpr auto all_well_within = Millis(120'000);

class Cluster {
 public:
  explicit Cluster(const Schedule& schedule, MembershipOptions options = {}, bool yields = true)
      : schedule_(schedule),
        options_(options),
        yields_(yields),
        network_(loop_, schedule.machines, schedule.seed, schedule.network,
                 [this](Network&, std::size_t machine, const PeerInfo& self) {
                   return make(machine, self);
                 }) {}

  /// Gives what was wrong.
  std::vector<std::string> run() {
    for (std::size_t i = 0; i < network_.size(); ++i) network_.start(i);
    settled_once_ = true;
    plan(schedule_, loop_, network_, [this](const Fault& fault) { watch(fault); });
    loop_.run_until(loop_.now() + schedule_.length + all_well_within);
    check_views();
    return wrong_;
  }
  [[nodiscard]] std::size_t downs() const { return downs_; }
  [[nodiscard]] std::size_t yields() const { return yielded_; }

 private:
  std::unique_ptr<Program> make(std::size_t machine, const PeerInfo& self) {
    MemberProgram::Setup setup;
    setup.options = options_;
    setup.yields = yields_;
    setup.seeds = std::exchange(known_[machine], {});
    setup.join = join_of(machine);
    setup.changed = [this](const NodeId& observer, const Member& member) {
      note(observer, member);
    };
    setup.yielded = [this, machine](const NodeId& who, std::vector<Address> known) {
      ++yielded_;
      if (!network_.is_buried_by_somebody(who)) complain(to_string(who) + " gave up for nothing");
      known_[machine] = std::move(known);
    };
    return std::make_unique<MemberProgram>(network_, machine, self, std::move(setup));
  }

  /// At first all join the first machine; later anybody.
  std::vector<Address> join_of(std::size_t machine) {
    if (!settled_once_) {
      return machine == 0 ? std::vector<Address>{} : std::vector{network_.address(0)};
    }
    std::vector<Address> to;
    for (std::size_t i = 1; i < network_.size(); ++i) {
      to.push_back(network_.address((machine + i) % network_.size()));
    }
    return to;
  }

  void note(const NodeId& observer, const Member& member) {
    auto& ended = ended_[observer];
    if (is_present(member.state)) {
      if (ended.contains(member.id)) {
        complain(to_string(member.id) + " came back for " + to_string(observer));
      }
    } else {
      ++downs_;
      ended.insert(member.id);
    }
  }

  /// Plans to look whether everybody has noticed.
  void watch(const Fault& fault) {
    for (std::size_t observer = 0; observer < network_.size(); ++observer) {
      for (std::size_t victim = 0; victim < network_.size(); ++victim) {
        if (observer != victim) watch(fault, observer, victim);
      }
    }
  }
  void watch(const Fault& fault, std::size_t observer, std::size_t victim) {
    const bool victim_gone = !network_.runs(victim);
    const bool cut = network_.blocked(observer, victim) || network_.blocked(victim, observer);
    if (!network_.runs(observer) || !(victim_gone || cut)) return;
    if (!sees(observer, network_.id(victim))) return;
    const bool certain = fault.kind == Fault::Kind::kill && fault.machine == victim && !cut &&
                         !network_.delayed(victim);
    const auto limit = certain ? death_noticed_within : noticed_within;
    loop_.after(limit, [=, this, id = network_.id(victim), of = marks(observer, victim)] {
      if (marks(observer, victim) != of) return;  // something else has happened meanwhile
      if (network_.delayed(observer)) return;
      if (sees(observer, id)) {
        complain(std::to_string(loop_.now().time_since_epoch() / Millis(1)) + " ms: " +
                 to_string(network_.id(observer)) + " has not noticed the end of " + to_string(id));
      }
    });
  }
  [[nodiscard]] std::array<std::uint64_t, 3> marks(std::size_t a, std::size_t b) const {
    return {network_.disturbances(a), network_.disturbances(b), network_.disturbances(a, b)};
  }

  /// Does the observer see it?
  bool sees(std::size_t observer, const NodeId& id) {
    const auto* member = view(observer).find(id);
    return member != nullptr && is_present(member->state);
  }
  const MembershipState& view(std::size_t machine) {
    return dynamic_cast<MemberProgram*>(network_.program(machine))->state();
  }

  void check_views() {
    std::set<NodeId> living;
    for (std::size_t i = 0; i < network_.size(); ++i) {
      if (!network_.runs(i)) {
        complain("machine " + std::to_string(i) + " does not run at the end");
        return;
      }
      living.insert(network_.id(i));
    }
    for (std::size_t i = 0; i < network_.size(); ++i) {
      std::set<NodeId> seen;
      for (const auto& member : view(i).members()) {
        if (member.state == MemberState::alive) seen.insert(member.id);
      }
      if (seen == living) continue;
      std::string text = to_string(network_.id(i)) + " sees in the end";
      for (const auto& id : seen) text += " " + to_string(id);
      complain(text + ", not all of the living");
    }
  }

  void complain(const std::string& what) {
    if (wrong_.size() < 10) wrong_.push_back(what);
  }

  Schedule schedule_;
  MembershipOptions options_;
  bool yields_;
  bool settled_once_ = false;
  EventLoop loop_;
  std::map<NodeId, std::set<NodeId>> ended_;  ///< whom each has seen end
  std::map<std::size_t, std::vector<Address>> known_;
  std::size_t downs_ = 0;
  std::size_t yielded_ = 0;
  std::vector<std::string> wrong_;
  Network network_;
};

BOOST_AUTO_TEST_CASE(every_view_is_right_in_time_whatever_happens) {
  std::size_t downs = 0;
  std::size_t yields = 0;
  for (const auto seed : seeds(200, 2000)) {
    const auto schedule = make_schedule(seed);
    Cluster cluster(schedule);
    const auto wrong = cluster.run();
    downs += cluster.downs();
    yields += cluster.yields();
    if (wrong.empty()) continue;
    BOOST_ERROR(
        report(to_string(schedule), seed, wrong, "every_view_is_right_in_time_whatever_happens"));
    if (std::getenv("TROUPE_SEED") == nullptr) break;
  }
  BOOST_TEST_MESSAGE(downs << " ends seen, " << yields << " incarnations given up");
  if (std::getenv("TROUPE_SEED") == nullptr) {  // else the schedules tested nothing
    BOOST_TEST(downs > 1000u);
    BOOST_TEST(yields > 50u);
  }
}

BOOST_AUTO_TEST_CASE(busy_machines_are_not_taken_for_dead) {
  for (const auto seed : seeds(100, 1000)) {
    const auto schedule = make_busy_schedule(seed);
    Cluster cluster(schedule);
    const auto wrong = cluster.run();
    const bool good = wrong.empty() && cluster.downs() == 0;
    BOOST_TEST(good);
    if (!good) {
      BOOST_ERROR(cluster.downs() << " ends seen\n"
                                  << report(to_string(schedule), seed, wrong,
                                            "busy_machines_are_not_taken_for_dead"));
      break;
    }
  }
}

// The model finds what it is there to find.

std::size_t wrong_runs(MembershipOptions options, bool yields, Millis silence_limit) {
  std::size_t count = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    auto schedule = make_schedule(seed);
    schedule.network.silence_limit = silence_limit;
    Cluster cluster(schedule, options, yields);
    count += cluster.run().empty() ? 0 : 1;
  }
  return count;
}

BOOST_AUTO_TEST_CASE(without_a_detector_silence_goes_unnoticed) {
  MembershipOptions deaf;
  deaf.detector.threshold = 1e300;
  deaf.detector.longest_silence = Millis(1'000'000'000);
  deaf.detector.acceptable_pause = Millis(1'000'000'000);
  BOOST_TEST(wrong_runs(deaf, true, Millis(1'000'000'000)) > 5u);
}

BOOST_AUTO_TEST_CASE(where_nobody_yields_the_living_stay_dead_to_each_other) {
  BOOST_TEST(wrong_runs({}, false, Millis(5000)) > 5u);
}

BOOST_AUTO_TEST_CASE(equal_seeds_give_equal_runs) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Cluster first(make_schedule(seed));
    Cluster second(make_schedule(seed));
    BOOST_TEST((first.run() == second.run()));
    BOOST_TEST(first.downs() == second.downs());
    BOOST_TEST(first.yields() == second.yields());
  }
}

}  // namespace
}  // namespace troupe::model
