// SPDX-License-Identifier: Apache-2.0
//
// Actors of two nodes over a network that fails by plan, one plan for each seed. A test that fails
// names its plan; TROUPE_SEED=N in the environment runs that seed alone, TROUPE_LONG=1 many more.
#include "actors/net/faulty_network.hpp"

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "messages/common.capnp.h"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace troupe {
namespace {

using Kind = FaultEvent::Kind;
using Note = Msg<msg::Address>;
using test::eventually;
constexpr auto patience = std::chrono::seconds(20);
constexpr std::uint16_t questions = 40;

Note note(std::uint16_t number) {
  return Note::build([&](msg::Address::Builder b) { b.setPort(number); });
}
bool is_request(std::uint16_t number) { return number % 4 != 0; }

/// What two actors have seen, for the test's thread to look at.
struct Seen {
  std::vector<std::uint16_t> asked;     ///< questions that came, in order
  std::vector<std::uint16_t> answered;  ///< answers that came back, in order
  std::vector<std::uint16_t> late;      ///< of those: after the asked actor was down
  unsigned errors = 0;
  unsigned timeouts = 0;
  unsigned downs = 0;
};

class Ledger {
 public:
  template <class Write>
  void write(Write&& write) {
    const std::lock_guard lock(mutex_);
    write(seen_);
  }
  void write_answer(std::uint16_t number) {
    write([&](Seen& seen) { (seen.downs > 0 ? seen.late : seen.answered).push_back(number); });
  }
  [[nodiscard]] Seen seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  mutable std::mutex mutex_;
  Seen seen_;
};

/// Answers with what it was asked: requests by a reply, messages by a message.
caf::behavior echo(caf::event_based_actor* self, Ledger* ledger) {
  keep_first_cause(*self);
  return {[=](const Note& question) -> caf::result<Note> {
    const auto number = question.read()->getPort();
    ledger->write([&](Seen& seen) { seen.asked.push_back(number); });
    if (is_request(number)) return question;
    self->send(caf::actor_cast<caf::actor>(self->current_sender()), question);
    return self->make_response_promise<Note>();  // nobody waits for a reply
  }};
}

/// Asks everything at once and writes down what becomes of it.
caf::behavior asker(caf::event_based_actor* self, caf::actor whom, Ledger* ledger) {
  keep_first_cause(*self);
  self->monitor(whom);
  self->set_down_handler([=](caf::down_msg&) { ledger->write([](Seen& seen) { ++seen.downs; }); });
  for (std::uint16_t i = 1; i <= questions; ++i) {
    if (!is_request(i)) {
      self->send(whom, note(i));
      continue;
    }
    self->request(whom, patience, note(i))
        .then([=](const Note& answer) { ledger->write_answer(answer.read()->getPort()); },
              [=](const caf::error& error) {
                ledger->write([&](Seen& seen) {
                  ++(error == caf::sec::request_timeout ? seen.timeouts : seen.errors);
                });
              });
  }
  return {[=](const Note& answer) { ledger->write_answer(answer.read()->getPort()); }};
}

struct Cluster {
  explicit Cluster(FaultPlan plan) : network(std::move(plan)) {
    register_node_messages(kinds);
    kinds.messages().add<msg::Address>();
    a = start("a");
    b = start("b");
  }
  ~Cluster() {
    for (auto& actor : actors) caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
  std::unique_ptr<Node> start(const std::string& name) {
    NodeOptions options;
    options.name = name;
    options.hub = &network;
    return Node::start(std::move(options), kinds).value();
  }
  /// An asker on a, and whom it asks on b.
  void ask(Ledger& ledger) {
    const auto far = b->system().spawn(echo, &ledger);
    actors.push_back(far);
    actors.push_back(a->system().spawn(asker, a->resolve(b->ref(far)), &ledger));
  }

  ActorKinds kinds;
  FaultyNetwork network;
  std::unique_ptr<Node> a;
  std::unique_ptr<Node> b;
  std::vector<caf::actor> actors;
};

/// A plan with a mixture of faults.
FaultPlan plan_of(std::uint64_t seed) {
  Dice dice(seed, "plan");
  FaultPlan plan;
  plan.seed = seed;
  const auto some = [&](double most) { return dice.falls(0.5) ? most : 0.0; };
  plan.delay = some(0.2);
  plan.reorder = some(0.2);
  plan.duplicate = some(0.2);
  plan.corrupt = some(0.01);
  plan.cut = some(0.01);
  plan.refuse = dice.falls(0.05) ? 1 : 0;
  plan.longest_delay = std::chrono::microseconds(dice.below(400));
  plan.silence = std::chrono::microseconds(dice.below(3000));
  if (dice.falls(0.1)) plan.frames_per_s = 20000;
  const char* names[] = {"a", "b"};
  for (auto left = dice.below(3); left > 0; --left) {
    const auto from = dice.below(2);
    plan.events.push_back({static_cast<Kind>(dice.below(3)), dice.below(questions + 10),
                           names[from], names[1 - from]});
  }
  return plan;
}

bool rises(const std::vector<std::uint16_t>& numbers) {
  return std::adjacent_find(numbers.begin(), numbers.end(), std::greater_equal<>()) ==
         numbers.end();
}

/// What the runtime promises of messages and requests, whatever the network does.
void check_promises(const FaultPlan& plan, FaultCounts& total) {
  Ledger ledger;
  Cluster cluster(plan);
  cluster.ask(ledger);
  constexpr unsigned asked = questions - questions / 4;
  const auto settled = [&] {
    const auto seen = ledger.seen();
    const auto replies = std::count_if(seen.answered.begin(), seen.answered.end(), is_request);
    return seen.errors + seen.timeouts + seen.late.size() + static_cast<unsigned>(replies) >= asked;
  };
  BOOST_REQUIRE(eventually(settled));
  cluster.network.strike(Kind::cut, "a", "b");
  BOOST_REQUIRE(eventually([&] { return ledger.seen().downs > 0; }));
  const auto seen = ledger.seen();
  BOOST_TEST(seen.timeouts == 0u);
  BOOST_TEST(seen.downs == 1u);
  BOOST_TEST(seen.late.empty());
  BOOST_TEST(rises(seen.asked));
  BOOST_TEST(rises(seen.answered));
  BOOST_TEST(std::includes(seen.asked.begin(), seen.asked.end(), seen.answered.begin(),
                           seen.answered.end()));
  const auto counts = cluster.network.counts();
  total.frames += counts.frames;
  total.cut += counts.cut;
  total.dropped_duplicates += counts.dropped_duplicates;
  total.dropped_corrupt += counts.dropped_corrupt;
}

/// Calls `test` with every seed that is to be tried.
template <class Test>
void for_each_seed(std::uint64_t count, Test&& test) {
  if (const char* one = std::getenv("TROUPE_SEED")) return test(std::stoull(one));
  if (std::getenv("TROUPE_LONG") != nullptr) count *= 10;
  for (std::uint64_t seed = 1; seed <= count; ++seed) test(seed);
}

BOOST_AUTO_TEST_CASE(messages_keep_their_order_and_every_request_is_answered_whatever_fails) {
  FaultCounts total;
  for_each_seed(1000, [&](std::uint64_t seed) {
    const auto plan = plan_of(seed);
    BOOST_TEST_CONTEXT(to_string(plan) << "\nreplay: TROUPE_SEED=" << seed
                                       << " unit_actors_core --run_test=messages_keep*") {
      check_promises(plan, total);
    }
  });
  BOOST_TEST_MESSAGE(total.frames << " frames, " << total.cut << " cuts, "
                                  << total.dropped_duplicates << " duplicates, "
                                  << total.dropped_corrupt << " corrupt frames");
}

BOOST_AUTO_TEST_CASE(a_node_survives_frames_that_nobody_has_checked) {
  std::uint64_t corrupted = 0;
  for_each_seed(200, [&](std::uint64_t seed) {
    FaultPlan plan;
    plan.seed = seed;
    plan.corrupt = 0.5;
    plan.duplicate = 0.1;
    plan.reorder = 0.2;
    plan.checked = false;
    BOOST_TEST_CONTEXT(to_string(plan) << "\nreplay: TROUPE_SEED=" << seed
                                       << " unit_actors_core --run_test=a_node_survives*") {
      Ledger ledger;
      Cluster cluster(plan);
      for (int i = 0; i < 4; ++i) cluster.ask(ledger);
      BOOST_REQUIRE(eventually([&] { return cluster.network.counts().frames > 4u * questions; }));
      cluster.network.strike(Kind::cut, "a", "b");
      BOOST_REQUIRE(eventually([&] { return ledger.seen().downs > 0; }));
      corrupted += cluster.network.counts().corrupted;
    }
  });
  BOOST_TEST(corrupted > 0u);
}

}  // namespace
}  // namespace troupe
