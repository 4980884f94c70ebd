// SPDX-License-Identifier: Apache-2.0
//
// An actor passes what another node sent it on to a third, so that a node sends something in the
// name of an actor that is not its own.
#include "actors/core/ask.hpp"
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/reason.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/common.capnp.h"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Note = Msg<msg::Address>;
const caf::duration patience{caf::time_unit::seconds, 20};
constexpr std::uint16_t never_answered = 2;

Note note(std::uint16_t number) {
  return Note::build([&](msg::Address::Builder b) { b.setPort(number); });
}

/// Answers with the number plus `more`.
caf::behavior adder(caf::event_based_actor* self, std::uint16_t more) {
  return {[=](const Note& n) -> caf::result<Note> {
    const auto number = n.read()->getPort();
    if (number == never_answered) return self->make_response_promise<Note>();
    if (number == 1) return to_caf(Error{ErrorCode::invalid_argument, "one neither"});
    return note(static_cast<std::uint16_t>(number + more));
  }};
}

struct Cluster {
  Cluster() {
    register_node_messages(kinds);
    kinds.messages().add<msg::Address>();
    for (const char* name : {"a", "b", "c"}) {
      NodeOptions options;
      options.name = name;
      options.hub = &hub;
      nodes.push_back(Node::start(std::move(options), kinds).value());
    }
    far = nodes[2]->system().spawn(adder, std::uint16_t{100});
    const auto beyond = nodes[1]->resolve(nodes[2]->ref(far));
    relay = nodes[1]->system().spawn([=](caf::event_based_actor* self) -> caf::behavior {
      return {[=](const Note& n) { return self->delegate(beyond, n); }};
    });
    near = nodes[0]->resolve(nodes[1]->ref(relay));
  }
  ~Cluster() {
    if (far) caf::anon_send_exit(far, caf::exit_reason::kill);
    for (const auto& actor : ours) caf::anon_send_exit(actor, caf::exit_reason::kill);
    caf::anon_send_exit(relay, caf::exit_reason::kill);
    ours.clear();
    near = relay = far = nullptr;
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::vector<std::unique_ptr<Node>> nodes;  // a, b, c
  caf::actor far;                            // on c
  caf::actor relay;                          // on b: passes all on to `far`
  caf::actor near;                           // its proxy, on a
  std::vector<caf::actor> ours;
};

struct Answer {
  int number = -1;  // -1: no answer
  std::optional<Error> error;
};

Answer ask(caf::scoped_actor& self, const caf::actor& whom, std::uint16_t number,
           caf::duration limit = patience) {
  Answer answer;
  self->request(whom, limit, note(number))
      .receive([&](const Note& n) { answer.number = n.read()->getPort(); },
               [&](const caf::error& e) { answer.error = from_caf(e); });
  return answer;
}

BOOST_AUTO_TEST_CASE(a_request_that_is_passed_on_to_a_third_node_is_answered) {
  Cluster cluster;
  caf::scoped_actor self{cluster.nodes[0]->system()};
  for (std::uint16_t i = 3; i < 50; ++i) BOOST_TEST(ask(self, cluster.near, i).number == i + 100);
  const auto refused = ask(self, cluster.near, 1);
  BOOST_REQUIRE(refused.error);
  BOOST_TEST(refused.error->what == "one neither");
}

BOOST_AUTO_TEST_CASE(who_is_passed_on_takes_no_place_of_an_actor_with_its_number) {
  Cluster cluster;
  auto& b = *cluster.nodes[1];
  // An asker on a, and an actor on b that has the same number there.
  const auto last = b.system().spawn(adder, std::uint16_t{0}).id();
  auto asker = std::make_unique<caf::scoped_actor>(cluster.nodes[0]->system());
  while ((*asker)->id() <= last) {
    asker = std::make_unique<caf::scoped_actor>(cluster.nodes[0]->system());
  }
  caf::actor same;
  do {
    same = b.system().spawn(adder, std::uint16_t{7});
    cluster.ours.push_back(same);
  } while (same.id() < (*asker)->id());
  BOOST_REQUIRE(same.id() == (*asker)->id());

  // b holds on to the asker, for whom it has asked something that is never answered.
  auto hanging = (*asker)->request(cluster.near, patience, note(never_answered));
  BOOST_TEST(ask(*asker, cluster.near, 3).number == 103);
  // Others still reach the actor of b.
  {
    caf::scoped_actor other{cluster.nodes[2]->system()};
    BOOST_TEST(ask(other, cluster.nodes[2]->resolve(b.ref(same)), 3).number == 10);
  }
  // What was passed on to c is answered when c goes.
  caf::anon_send_exit(cluster.far, caf::exit_reason::kill);
  cluster.far = nullptr;
  cluster.nodes[2].reset();
  std::optional<Error> why;
  hanging.receive([](const Note&) {}, [&](const caf::error& e) { why = from_caf(e); });
  BOOST_REQUIRE(why);
  BOOST_CHECK(why->code == ErrorCode::unavailable);
}

/// Milliseconds that the asker still waits, when the message comes; -1: not known.
caf::behavior clock_watcher(caf::event_based_actor*) {
  return {[](const Note& n) {
    const auto left = n.due() ? *n.due() - std::chrono::steady_clock::now() : Millis(-1);
    return note(static_cast<std::uint16_t>(std::chrono::duration_cast<Millis>(left).count()));
  }};
}

BOOST_AUTO_TEST_CASE(an_actor_knows_how_long_who_asks_waits_also_where_it_is_passed_on) {
  Cluster cluster;
  const auto watcher = cluster.nodes[2]->system().spawn(clock_watcher);
  const auto watcher_on_b = cluster.nodes[1]->resolve(cluster.nodes[2]->ref(watcher));
  const auto relay = cluster.nodes[1]->system().spawn([=](caf::event_based_actor* self) {
    return caf::behavior{[=](const Note& n) { return self->delegate(watcher_on_b, n); }};
  });
  cluster.ours = {watcher, relay};
  caf::scoped_actor self{cluster.nodes[0]->system()};
  for (const auto& whom : {watcher, relay}) {
    auto& node = *cluster.nodes[whom == watcher ? 2 : 1];
    const auto there = cluster.nodes[0]->resolve(node.ref(whom));
    int left = -1;
    troupe::ask(self, there, Millis(25000), note(0))
        .receive([&](const Note& n) { left = n.read()->getPort(); }, [](const caf::error&) {});
    BOOST_TEST(left > 0);
    BOOST_TEST(left <= 25000);
  }
  BOOST_TEST(!note(0).due().has_value());
  BOOST_TEST(!note(0).is_late());
}

BOOST_AUTO_TEST_CASE(a_node_makes_no_actor_for_who_does_not_wait_any_more) {
  Cluster cluster;
  auto& node = *cluster.nodes[0];
  const auto request = Msg<msg::Spawn>::build([](msg::Spawn::Builder b) { b.setKind("none"); });
  const Msg<msg::Spawn> late(request.body(), {}, std::chrono::steady_clock::now());
  BOOST_TEST(late.is_late());
  caf::scoped_actor self{node.system()};
  std::vector<ErrorCode> codes;
  for (const auto& message : {request, late}) {
    self->request(node.node_actor_of(node.self()), patience, message)
        .receive([](const Msg<msg::Spawned>&) {},
                 [&](const caf::error& e) { codes.push_back(from_caf(e).code); });
  }
  BOOST_REQUIRE(codes.size() == 2u);
  BOOST_CHECK(codes[0] == ErrorCode::not_found);
  BOOST_CHECK(codes[1] == ErrorCode::timeout);
}

}  // namespace
}  // namespace troupe
