// SPDX-License-Identifier: Apache-2.0
//
// Every pair of processes is started once and stays for all rounds, asleep while others are
// measured. A round measures every probe once, so that whatever else the machine does meets all of
// them alike; every other round goes backwards. A first round, with small counts, is not recorded.
#include "apps/bench/actors/rounds.hpp"

#include "apps/bench/actors/counterparts.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <set>

namespace troupe::bench {
namespace {

constexpr auto probe_time = std::chrono::seconds(15);

using Pairs = std::map<std::string, Result<std::unique_ptr<Counterparts>>>;

class Rounds {
 public:
  Rounds(const Plan& plan, const std::vector<std::string>& core_sets,
         const std::map<std::string, std::string>& binaries)
      : plan_(plan) {
    for (const auto& cores : core_sets) {
      outcomes_.push_back({cores, 0, {}, {}});
      pairs_.emplace_back();
      for (const auto& [peer, binary] : binaries) {
        pairs_.back().emplace(peer, Counterparts::start(launcher_, binary, peer, cores));
      }
    }
  }

  void warm_up(const std::vector<Probe>& probes) {
    for (const auto& probe : probes) {
      for (std::size_t i = 0; i < pairs_.size(); ++i) measure(i, probe, false);
    }
  }

  void run_one(bool backwards) {
    auto probes = plan_.probes;
    if (backwards) std::reverse(probes.begin(), probes.end());
    for (const auto& probe : probes) {
      for (std::size_t i = 0; i < pairs_.size(); ++i) measure(i, probe, true);
    }
    for (auto& outcome : outcomes_) ++outcome.rounds;
  }

  [[nodiscard]] std::vector<Outcome> take() { return std::move(outcomes_); }

 private:
  void measure(std::size_t place, const Probe& probe, bool record) {
    auto& outcome = outcomes_[place];
    auto& skipped = outcome.skipped;
    if (skipped.contains(probe.keys.front()) || skipped.contains(probe.peer)) return;
    const auto pair = pairs_[place].find(probe.peer);
    if (pair == pairs_[place].end()) {
      skipped[probe.peer] = "its program is not there";
    } else if (!pair->second) {
      skipped[probe.peer] = pair->second.error().what;
    } else if (const auto figures = (*pair->second)->measure(probe.task, probe_time); !figures) {
      skipped[probe.keys.front()] = figures.error().what;
    } else if (record) {
      const auto converted = convert(probe, *figures);
      for (std::size_t i = 0; i < probe.keys.size(); ++i) {
        outcome.samples[probe.keys[i]].push_back(converted[i]);
      }
    }
  }

  const Plan& plan_;
  Launcher launcher_;
  std::vector<Pairs> pairs_;
  std::vector<Outcome> outcomes_;
};

}  // namespace

std::vector<unsigned> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  ::sched_getaffinity(0, sizeof set, &set);
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < CPU_SETSIZE && cores.size() < 2; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<Outcome> run_rounds(const Plan& plan, const std::vector<std::string>& core_sets,
                                const std::map<std::string, std::string>& binaries,
                                const std::function<void(const std::string&)>& tell) {
  const auto until = std::chrono::steady_clock::now() + plan.time;
  tell("starting");
  Rounds rounds(plan, core_sets, binaries);
  rounds.warm_up(make_plan(Effort::quick).probes);
  for (unsigned round = 0; round < plan.rounds; ++round) {
    if (std::chrono::steady_clock::now() > until) {
      tell("out of time after " + std::to_string(round) + " rounds");
      break;
    }
    tell("round " + std::to_string(round + 1) + " of " + std::to_string(plan.rounds));
    rounds.run_one(round % 2 == 1);
  }
  return rounds.take();
}

}  // namespace troupe::bench
