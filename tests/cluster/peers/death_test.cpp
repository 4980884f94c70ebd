// SPDX-License-Identifier: Apache-2.0
//
// A node's process is killed: whoever watched one of its actors hears of it, and every request that
// waited for one is answered, at once. Run over TCP and, with UCX_TLS=posix in the environment,
// over shared memory; the limit holds on a machine that has nothing else to do, so the worst case
// has it with TROUPE_LONG=1 only and otherwise the median.
#include "actors/core/reason.hpp"
#include "actors/net/ucx_worker.hpp"
#include "tests/cluster/peers/silent_node.hpp"
#include "tests/support/child_process.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <sstream>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
using test::ChildProcess;
using test::never_answered;
using test::note;
using test::Note;
constexpr auto patience = std::chrono::seconds(20);
constexpr int kills = 20;
constexpr int requests = 1000;
constexpr double limit_ms = 200;
constexpr double limit_on_a_busy_machine_ms = 1000;
const bool environment_is_set = (UcxWorker::set_environment(true), true);

/// What a watcher has heard, once it has heard all.
struct Heard {
  Clock::time_point at;
  int errors = 0;
  int answers = 0;
  Error why;
};

/// Monitors an actor and asks it what it never answers; says so when all that has come to an end.
struct Watcher {
  caf::actor whom;
  std::shared_ptr<std::promise<void>> ready;
  std::shared_ptr<std::promise<Heard>> heard;
};

caf::behavior watch(caf::event_based_actor* self, const Watcher& watcher) {
  auto state = std::make_shared<std::pair<Heard, bool>>();
  const auto note_end = [=] {
    auto& [heard, down] = *state;
    if (!down || heard.errors + heard.answers < requests) return;
    heard.at = Clock::now();
    watcher.heard->set_value(heard);
    self->quit();
  };
  self->monitor(watcher.whom);
  self->set_down_handler([=](const caf::down_msg&) {
    state->second = true;
    note_end();
  });
  for (int i = 0; i < requests; ++i) {
    self->request(watcher.whom, patience, note(never_answered))
        .then(
            [=](const Note&) {
              ++state->first.answers;
              note_end();
            },
            [=](const caf::error& error) {
              ++state->first.errors;
              state->first.why = from_caf(error);
              note_end();
            });
  }
  // The last question is answered, so all have arrived.
  self->request(watcher.whom, patience, note(7))
      .then([=](const Note&) { watcher.ready->set_value(); },
            [=](const caf::error&) { watcher.ready->set_value(); });
  return {[](const Note&) {}};
}

ActorRef node_of(const ChildProcess& child) {
  std::istringstream words(child.ask("node"));
  ActorRef ref;
  words >> ref.node.name >> ref.node.incarnation >> ref.control.host >> ref.control.port >>
      ref.actor;
  return ref;
}

/// Milliseconds from a kill until all has come to an end. `busy`: while large messages are on their
/// way.
double kill_one(Node& node, const ClusterSecret& secret, bool busy) {
  ChildProcess child(TROUPE_TEST_PEER);
  child.tell(secret.text());
  const auto far = node.resolve(node_of(child));
  const Watcher watcher{far, std::make_shared<std::promise<void>>(),
                        std::make_shared<std::promise<Heard>>()};
  auto ready = watcher.ready->get_future();
  auto heard = watcher.heard->get_future();
  node.system().spawn(watch, watcher);
  BOOST_REQUIRE(ready.wait_for(patience) == std::future_status::ready);
  const Slice blob = Slice::own(std::vector<std::byte>(std::size_t{4} << 20));
  for (int i = 0; busy && i < 16; ++i) caf::anon_send(far, note(7, blob));
  const auto begin = Clock::now();
  child.kill();
  BOOST_REQUIRE(heard.wait_for(patience) == std::future_status::ready);
  const auto result = heard.get();
  BOOST_TEST(result.errors == requests);
  BOOST_CHECK(result.why.code == ErrorCode::unavailable);
  return std::chrono::duration<double, std::milli>(result.at - begin).count();
}

BOOST_AUTO_TEST_CASE(when_a_node_is_killed_its_watchers_and_askers_hear_of_it_within_200_ms) {
  const auto secret = ClusterSecret::random();
  test::SilentNode here("here", secret);
  std::vector<double> took;
  for (int i = 0; i < kills; ++i) took.push_back(kill_one(here.node(), secret, i % 2 == 1));
  std::sort(took.begin(), took.end());
  BOOST_TEST_MESSAGE(std::getenv("UCX_TLS")
                     << ": " << kills << " kills, " << requests << " requests each; median "
                     << took[kills / 2] << " ms, worst " << took.back() << " ms");
  BOOST_TEST(took[kills / 2] <= limit_ms);
  const bool strict = std::getenv("TROUPE_LONG") != nullptr;
  BOOST_TEST(took.back() <= (strict ? limit_ms : limit_on_a_busy_machine_ms));
}

}  // namespace
}  // namespace troupe
