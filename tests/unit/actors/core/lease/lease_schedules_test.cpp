// SPDX-License-Identifier: Apache-2.0
//
// Seeded schedules: three nodes want one lease, each through a LeaseKeeper and with a clock of its
// own, from the reference store. Requests and answers are late or lost, nodes are paused. Never do
// two act, and when the faults are over somebody does again.
#include "actors/core/lease/lease_keeper.hpp"
#include "tests/support/memory_store.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <map>
#include <random>
#include <string>

namespace troupe {
namespace {

constexpr Millis faults_until{300000};
constexpr Millis ends_at{360000};
constexpr Millis answer_limit{3000};

class Schedule {
 public:
  Schedule(std::uint64_t seed, bool with_pauses) : random_(seed), with_pauses_(with_pauses) {
    data_->now = [this] { return BootClock::time_point(now_); };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].keeper = std::make_unique<LeaseKeeper>(
          LeaseWish{"singleton", "node" + std::to_string(i) + "/1", Millis(5000)});
      nodes_[i].clock_offset = Millis(draw(100000000));
      later(Millis(draw(3000)), [this, i] { carry_out(i, nodes_[i].keeper->start(clock_of(i))); });
      if (with_pauses) plan_pause(i);
    }
  }

  /// What went wrong; empty: nothing.
  std::string run() {
    while (!queue_.empty() && fault_.empty()) {
      const auto next = queue_.begin();
      now_ = next->first;
      if (now_ > ends_at) break;
      const auto what = std::move(next->second);
      queue_.erase(next);
      what();
      look();
      if (++steps_ > 1000000) fault_ = "time does not go on";
    }
    if (fault_.empty() && held_last_ < ends_at - Millis(20000)) {
      fault_ = "nobody holds the lease although the faults are over";
    }
    if (fault_.empty() && terms_ < 2) fault_ = "the schedule tries nothing";
    return fault_;
  }

 private:
  struct Node {
    std::unique_ptr<LeaseKeeper> keeper;
    Millis clock_offset{0};
    bool acting = false;  // between Have and ClientStopped
    BootClock::time_point until;
    Millis paused_until{0};
  };

  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool one_in(std::uint64_t n) { return now_ < faults_until && draw(n) == 0; }
  void later(Millis delay, std::function<void()> what) {
    queue_.emplace(now_ + delay, std::move(what));
  }
  BootClock::time_point clock_of(std::size_t i) {
    return BootClock::time_point(now_ + nodes_[i].clock_offset);
  }

  /// Runs `what` on a node, when it is not paused.
  void on_node(std::size_t i, Millis delay, std::function<void()> what) {
    later(delay, [this, i, what = std::move(what)] {
      if (now_ >= nodes_[i].paused_until) return what();
      on_node(i, nodes_[i].paused_until - now_, what);
    });
  }
  void tell(std::size_t i, Millis delay, KeeperEvent event) {
    on_node(i, delay,
            [this, i, event] { carry_out(i, nodes_[i].keeper->step(event, clock_of(i))); });
  }

  void plan_pause(std::size_t i) {
    later(Millis(draw(60000)), [this, i] {
      if (now_ >= faults_until) return;
      nodes_[i].paused_until = now_ + Millis(draw(20000));
      plan_pause(i);
    });
  }

  Millis travel() { return Millis(one_in(20) ? draw(6000) : draw(50)); }

  /// A request to the store; `what` runs there.
  void ask(std::size_t i, const std::function<KeeperEvent(Store&)>& what) {
    const auto there = travel();
    const auto back = travel();
    const bool arrives = !one_in(10);
    const bool answered = arrives && !one_in(10) && there + back < answer_limit;
    if (arrives) {
      later(there, [this, i, back, answered, what] {
        test::MemoryStore store(data_);
        const auto answer = what(store);
        if (answered) tell(i, back, answer);
      });
    }
    if (!answered) {
      tell(i, answer_limit, keeper_event::Failed{{ErrorCode::timeout, "no answer"}});
    }
  }

  void carry_out(std::size_t i, const KeeperEffects& effects) {
    for (const auto& effect : effects) {
      std::visit([&](const auto& what) { carry_out(i, what); }, effect);
    }
  }
  void carry_out(std::size_t i, const keeper_effect::Acquire&) {
    const auto wish = nodes_[i].keeper->wish();
    ask(i, [wish](Store& store) -> KeeperEvent {
      auto lease = store.acquire(wish.name, wish.owner, wish.ttl);
      if (!lease) return keeper_event::Failed{lease.error()};
      return keeper_event::Granted{*lease};
    });
  }
  void carry_out(std::size_t i, const keeper_effect::Renew& renew) {
    ask(i, [lease = renew.lease](Store& store) -> KeeperEvent {
      auto renewed = store.renew(lease);
      if (!renewed) return keeper_event::Failed{renewed.error()};
      return keeper_event::Renewed{};
    });
  }
  void carry_out(std::size_t i, const keeper_effect::Release& release) {
    const auto there = travel();
    later(there, [this, lease = release.lease] {
      test::MemoryStore store(data_);
      (void)store.release(lease);
    });
    tell(i, there + travel(), keeper_event::Released{});
  }
  void carry_out(std::size_t i, const keeper_effect::Have& have) {
    if (have.lease.generation <= last_generation_) fault_ = "a generation that is not larger";
    last_generation_ = have.lease.generation;
    nodes_[i].acting = true;
    nodes_[i].until = have.until;
    ++terms_;
    if (one_in(3)) stops(i, Millis(draw(20000)));  // by itself
  }
  void carry_out(std::size_t i, const keeper_effect::Extended& extended) {
    nodes_[i].until = extended.until;
  }
  void carry_out(std::size_t i, const keeper_effect::Stop&) {
    stops(i, Millis(draw(static_cast<std::uint64_t>(nodes_[i].keeper->wish().margin().count()))));
  }
  void carry_out(std::size_t, const keeper_effect::Waiting&) {}
  void carry_out(std::size_t i, const keeper_effect::WakeAt& wake) {
    tell(i, std::max(wake.time - clock_of(i), Millis(0)), keeper_event::Timer{});
  }
  void carry_out(std::size_t, const keeper_effect::Ended&) { fault_ = "nobody asked for the end"; }

  void stops(std::size_t i, Millis delay) {
    on_node(i, delay, [this, i] {
      if (!nodes_[i].acting) return;
      nodes_[i].acting = false;
      carry_out(i, nodes_[i].keeper->step(keeper_event::ClientStopped{}, clock_of(i)));
    });
  }

  /// Who acts now? A node that is paused does nothing, and looks at its term when it goes on.
  void look() {
    int acting = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const bool may = nodes_[i].acting && clock_of(i) < nodes_[i].until;
      if (!with_pauses_ && nodes_[i].acting && !may) fault_ = "it was told too late to stop";
      if (may) ++acting;
    }
    if (acting > 1) fault_ = "two act at " + std::to_string(now_.count()) + " ms";
    if (acting == 1) held_last_ = now_;
  }

  std::mt19937_64 random_;
  bool with_pauses_;
  Millis now_{0};
  std::multimap<Millis, std::function<void()>> queue_;
  std::shared_ptr<test::MemoryStoreData> data_ = std::make_shared<test::MemoryStoreData>();
  std::array<Node, 3> nodes_;
  Generation last_generation_ = 0;
  Millis held_last_{0};
  int terms_ = 0;
  int steps_ = 0;
  std::string fault_;
};

BOOST_AUTO_TEST_CASE(two_never_act_whatever_is_late_lost_or_paused) {
  const auto* only = std::getenv("TROUPE_SEED");
  const std::uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  const std::uint64_t count = only != nullptr                         ? 1
                              : std::getenv("TROUPE_LONG") != nullptr ? 2000
                                                                      : 200;
  for (auto seed = first; seed < first + count; ++seed) {
    const auto fault = Schedule(seed, seed % 2 == 0).run();
    BOOST_TEST(fault.empty(), fault << "; TROUPE_SEED=" << seed
                                    << " unit_actors_core_lease -t two_never_act* runs it again");
  }
}

}  // namespace
}  // namespace troupe
