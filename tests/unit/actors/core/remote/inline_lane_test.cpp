// SPDX-License-Identifier: Apache-2.0
//
// What runs on the network's thread, and what does not.
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/common.capnp.h"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace troupe {
namespace {

using Note = Msg<msg::Address>;
const caf::duration patience{caf::time_unit::seconds, 20};

Note note(std::uint16_t number) {
  return Note::build([&](msg::Address::Builder b) { b.setPort(number); });
}

struct Cluster {
  Cluster() {
    register_node_messages(kinds);
    kinds.messages().add<msg::Address>();
    for (auto* node : {&a, &b}) {
      NodeOptions options;
      options.name = node == &a ? "a" : "b";
      options.hub = &hub;
      *node = Node::start(std::move(options), kinds).value();
    }
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> a;
  std::unique_ptr<Node> b;
};

/// Sends to `whom` and waits for the answer.
bool answers(caf::scoped_actor& self, const caf::actor& whom) {
  bool answered = false;
  self->request(whom, patience, note(3))
      .receive([&](const Note&) { answered = true; }, [](const caf::error&) {});
  return answered;
}

/// Ends actors that use what belongs to the test.
void end(caf::scoped_actor& self, const std::vector<caf::actor>& actors) {
  for (const auto& actor : actors) self->send_exit(actor, caf::exit_reason::kill);
  for (const auto& actor : actors) self->wait_for(actor);
}

BOOST_AUTO_TEST_CASE(whom_an_inline_actor_wakes_does_not_run_on_the_network_thread) {
  Cluster cluster;
  std::atomic<std::thread::id> of_lane;
  std::atomic<int> on_lane = 0;
  std::atomic<int> handled = 0;
  auto& system = cluster.b->system();
  const auto slow = system.spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](const Note&) {
      if (std::this_thread::get_id() == of_lane.load()) ++on_lane;
      ++handled;
    }};
  });
  const auto quick = system.spawn([&](caf::event_based_actor* self) -> caf::behavior {
    return {[&, self](const Note& n) {
      of_lane = std::this_thread::get_id();
      self->send(slow, n);
      return n;
    }};
  });
  cluster.b->run_inline(quick);
  const auto far = cluster.a->resolve(cluster.b->ref(quick));
  caf::scoped_actor self{cluster.a->system()};
  constexpr int count = 50;
  for (int i = 0; i < count; ++i) {
    BOOST_REQUIRE(answers(self, far));
    BOOST_REQUIRE(test::eventually([&] { return handled == i + 1; }));  // it is idle again
  }
  // The quick one itself may run in the scheduler now and then, on a thread that both use.
  BOOST_TEST(on_lane < count / 5);
  end(self, {quick, slow});
}

BOOST_AUTO_TEST_CASE(inline_actors_that_keep_each_other_busy_do_not_keep_the_network_thread) {
  Cluster cluster;
  std::atomic<int> passes = 0;
  auto& system = cluster.b->system();
  std::vector<caf::actor> both(2);
  for (std::size_t i = 0; i < 2; ++i) {
    both[i] = system.spawn([&, i](caf::event_based_actor* self) -> caf::behavior {
      return {[&, self, i](const Note& n) {
        ++passes;
        self->send(both[1 - i], n);
      }};
    });
  }
  const auto other = system.spawn(
      [](caf::event_based_actor*) -> caf::behavior { return {[](const Note& n) { return n; }}; });
  for (const auto& actor : both) cluster.b->run_inline(actor);
  const auto far = cluster.a->resolve(cluster.b->ref(both[0]));
  const auto far_other = cluster.a->resolve(cluster.b->ref(other));
  caf::scoped_actor self{cluster.a->system()};
  BOOST_REQUIRE(answers(self, far_other));
  self->send(far, note(1));
  BOOST_REQUIRE(test::eventually([&] { return passes > 100; }));
  BOOST_TEST(answers(self, far_other));
  end(self, both);
  end(self, {other});
}

}  // namespace
}  // namespace troupe
