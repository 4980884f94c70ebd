// SPDX-License-Identifier: Apache-2.0
//
// Actors of two nodes in this process that talk through a transport, as they would between
// machines.
#include "actors/core/remote/remote_actors.hpp"

#include "actors/core/ask.hpp"
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/reason.hpp"
#include "actors/net/loopback_transport.hpp"
#include "actors/net/ucx_worker.hpp"
#include "messages/common.capnp.h"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>

namespace troupe {
namespace {

const bool environment_is_set = (UcxWorker::set_environment(true), true);
const caf::duration patience{caf::time_unit::seconds, 20};

// Any registered struct will do as a message; this one has a number and a text.
using Note = Msg<msg::Address>;

Note note(std::uint16_t number, Slice blob = {}) {
  return Note::build([&](msg::Address::Builder b) { b.setPort(number); }, std::move(blob));
}

caf::behavior doubler(caf::event_based_actor* self) {
  keep_first_cause(*self);
  return {[=](const Note& n) -> caf::result<Note> {
    const auto number = n.read()->getPort();
    if (number == 0) throw std::runtime_error("zero is not for me");
    if (number == 1) return to_caf(Error{ErrorCode::invalid_argument, "one neither"});
    if (number == 2) return self->make_response_promise<Note>();  // never answers
    return note(static_cast<std::uint16_t>(2 * number), n.blob());
  }};
}

struct Cluster {
  explicit Cluster(const std::string& network) {
    register_node_messages(kinds);
    kinds.messages().add<msg::Address>();
    NodeOptions a_options;
    NodeOptions b_options;
    a_options.name = "a";
    b_options.name = "b";
    b_options.secret = a_options.secret;
    if (network == "loopback") a_options.hub = b_options.hub = &hub;
    a = Node::start(std::move(a_options), kinds).value();
    b = Node::start(std::move(b_options), kinds).value();
    far = b->system().spawn(doubler);
    near = a->resolve(b->ref(far));
  }
  ~Cluster() {
    caf::anon_send_exit(far, caf::exit_reason::kill);
    far = nullptr;
    near = nullptr;
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> a;
  std::unique_ptr<Node> b;
  caf::actor far;   // the actor, on b
  caf::actor near;  // its proxy, on a
};

struct Answer {
  std::optional<Note> note;
  std::optional<Error> error;
};

Answer ask(caf::scoped_actor& self, const caf::actor& whom, const Note& question,
           caf::duration limit = patience) {
  Answer answer;
  self->request(whom, limit, question)
      .receive([&](const Note& n) { answer.note = n; },
               [&](const caf::error& e) { answer.error = from_caf(e); });
  return answer;
}

const auto networks = boost::unit_test::data::make(std::vector<std::string>{"loopback", "ucx"});

BOOST_DATA_TEST_CASE(a_request_reaches_an_actor_of_another_node_and_its_reply_comes_back, networks,
                     network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  for (std::uint16_t i = 3; i < 200; ++i) {
    const auto answer = ask(self, cluster.near, note(i));
    BOOST_REQUIRE(answer.note);
    BOOST_TEST(answer.note->read()->getPort() == 2 * i);
  }
}

BOOST_DATA_TEST_CASE(a_blob_travels_beside_its_message, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  std::vector<float> tensor(500000);
  for (std::size_t i = 0; i < tensor.size(); ++i) tensor[i] = static_cast<float>(i);
  const auto answer = ask(self, cluster.near, note(3, Slice::own(tensor)));
  BOOST_REQUIRE(answer.note);
  const auto bytes = std::as_bytes(std::span(tensor));
  const auto back = answer.note->blob().bytes();
  BOOST_TEST(std::equal(back.begin(), back.end(), bytes.begin(), bytes.end()));
}

BOOST_DATA_TEST_CASE(an_error_reply_keeps_its_words, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  const auto answer = ask(self, cluster.near, note(1));
  BOOST_REQUIRE(answer.error);
  const Error expected{ErrorCode::invalid_argument, "one neither"};
  BOOST_CHECK(*answer.error == expected);
}

BOOST_DATA_TEST_CASE(an_exception_ends_the_actor_and_its_words_are_the_reason_of_the_down, networks,
                     network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  self->monitor(cluster.near);
  self->send(cluster.near, note(0));
  Error why;
  self->receive([&](const caf::down_msg& down) { why = from_caf(down.reason); },
                caf::after(patience) >> [] {});
  BOOST_TEST(why.what == "zero is not for me");
}

BOOST_DATA_TEST_CASE(an_exit_message_ends_an_actor_of_another_node, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  self->monitor(cluster.near);
  self->send_exit(cluster.near, caf::exit_reason::user_shutdown);
  bool normal = false;
  self->receive([&](const caf::down_msg& down) { normal = is_normal_end(down.reason); },
                caf::after(patience) >> [] {});
  BOOST_TEST(normal);
}

BOOST_DATA_TEST_CASE(monitoring_an_actor_that_is_gone_answers_at_once, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  auto ref = cluster.b->ref(cluster.far);
  ref.actor += 1000;
  self->monitor(cluster.a->resolve(ref));
  bool told = false;
  self->receive([&](const caf::down_msg&) { told = true; }, caf::after(patience) >> [] {});
  BOOST_TEST(told);
  const auto answer = ask(self, cluster.a->resolve(ref), note(3));
  BOOST_REQUIRE(answer.error);
  BOOST_CHECK(answer.error->code == ErrorCode::unavailable);
}

BOOST_DATA_TEST_CASE(when_a_node_goes_its_actors_are_down_and_requests_are_answered, networks,
                     network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  BOOST_REQUIRE(ask(self, cluster.near, note(3)).note);
  self->monitor(cluster.near);
  auto hanging = self->request(cluster.near, caf::infinite, note(2));
  const auto still_there = ask(self, cluster.near, note(3));
  BOOST_REQUIRE(still_there.note);
  const auto ref = cluster.b->ref(cluster.far);
  caf::anon_send_exit(cluster.far, caf::exit_reason::kill);
  cluster.far = nullptr;
  cluster.b.reset();
  bool down = false;
  std::optional<Error> unanswered;
  self->receive([&](const caf::down_msg&) { down = true; }, caf::after(patience) >> [] {});
  hanging.receive([](const Note&) {}, [&](const caf::error& e) { unanswered = from_caf(e); });
  BOOST_TEST(down);
  BOOST_REQUIRE(unanswered);
  BOOST_CHECK(unanswered->code == ErrorCode::unavailable);
  // The incarnation never comes back: whoever resolves the old reference learns that.
  const auto late = ask(self, cluster.a->resolve(ref), note(3));
  BOOST_TEST(late.error.has_value());
}

BOOST_DATA_TEST_CASE(a_node_that_cannot_be_reached_makes_its_actors_down, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  ActorRef ref = cluster.b->ref(cluster.far);
  caf::anon_send_exit(cluster.far, caf::exit_reason::kill);
  cluster.far = nullptr;
  cluster.near = nullptr;
  ref.node.incarnation ^= 1;  // another life of b
  const auto handle = cluster.a->resolve(ref);
  self->monitor(handle);
  bool down = false;
  self->receive([&](const caf::down_msg&) { down = true; }, caf::after(patience) >> [] {});
  BOOST_TEST(down);
}

BOOST_DATA_TEST_CASE(linked_actors_of_two_nodes_end_together, networks, network) {
  for (const bool far_ends_first : {true, false}) {
    Cluster cluster(network);
    caf::scoped_actor self{cluster.a->system()};
    const auto local = cluster.a->system().spawn([&](caf::event_based_actor* actor) {
      actor->link_to(cluster.near);
      return doubler(actor);
    });
    self->monitor(local);
    self->monitor(cluster.near);
    BOOST_REQUIRE(ask(self, cluster.near, note(3)).note);
    BOOST_REQUIRE(ask(self, local, note(3)).note);  // the link is made
    self->send_exit(far_ends_first ? cluster.near : local, caf::exit_reason::kill);
    int downs = 0;
    self->receive_for(downs, 2)([](const caf::down_msg&) {}, caf::after(patience) >> [] {});
    BOOST_TEST(downs == 2);
  }
}

BOOST_DATA_TEST_CASE(an_inline_actor_answers_on_the_network_thread, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  std::atomic<std::thread::id> thread;
  const auto where = cluster.b->system().spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](const Note& n) {
      thread = std::this_thread::get_id();
      return n;
    }};
  });
  const auto far = cluster.a->resolve(cluster.b->ref(where));
  cluster.b->run_inline(where);
  std::map<std::thread::id, int> handled;
  for (std::uint16_t i = 3; i < 203; ++i) {
    BOOST_REQUIRE(ask(self, far, note(i)).note);
    ++handled[thread];
  }
  // A message that comes while the actor's start or a last look at its mailbox is still running in
  // the scheduler is handled there.
  int most = 0;
  for (const auto& [where_handled, count] : handled) most = std::max(most, count);
  BOOST_TEST(most >= 180);
  caf::anon_send_exit(where, caf::exit_reason::kill);
}

BOOST_DATA_TEST_CASE(a_request_without_a_limit_has_one_all_the_same, networks, network) {
  Cluster cluster(network);
  caf::scoped_actor self{cluster.a->system()};
  std::optional<Error> why;
  const AskLimit scope(Millis(1));
  self->request(cluster.near, caf::infinite, note(2))
      .receive([](const Note&) {}, [&](const caf::error& e) { why = from_caf(e); });
  BOOST_REQUIRE(why);
  BOOST_CHECK(why->code == ErrorCode::timeout);
}

BOOST_AUTO_TEST_CASE(what_has_no_schema_cannot_leave_the_process) {
  Cluster cluster("loopback");
  caf::scoped_actor self{cluster.a->system()};
  bool refused = false;
  self->request(cluster.near, patience, 5)
      .receive([](const Note&) {}, [&](const caf::error&) { refused = true; });
  BOOST_TEST(refused);
}

}  // namespace
}  // namespace troupe
