// SPDX-License-Identifier: Apache-2.0
//
// A peer that is a member of the cluster and sends whatever it likes.
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/reason.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/common.capnp.h"
#include "messages/node.capnp.h"
#include "tests/support/recording_handler.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <malloc.h>

namespace troupe {
namespace {

using Note = Msg<msg::Address>;
using test::eventually;
constexpr auto patience = std::chrono::seconds(20);
constexpr std::uint64_t response = std::uint64_t{1} << 63;
constexpr std::uint64_t normal = std::uint64_t{1} << 60;

/// A node with an actor that never answers, an honest node, and one that is nothing but a
/// transport.
struct Cluster {
  Cluster() {
    register_node_messages(kinds);
    kinds.messages().add<msg::Address>();
    node = start("node");
    honest = start("honest");
    actor = node->system().spawn([]() -> caf::behavior { return {[](const Note&) {}}; });
    silent = honest->system().spawn([](caf::event_based_actor* self) -> caf::behavior {
      return {[self](const Note&) { return self->make_response_promise<Note>(); }};
    });
    mallory = hub.make({{"mallory", 1}, {}, "1", 1});
    mallory_info = mallory->start(at_mallory).value();
    mallory->connect(node->self().control, node->self().id);
    BOOST_REQUIRE(eventually([&] { return at_mallory.log().up.size() == 1; }));
  }
  ~Cluster() {
    for (auto& one : {actor, silent}) {
      if (one) caf::anon_send_exit(one, caf::exit_reason::kill);
    }
    actor = silent = nullptr;
    mallory->stop();
  }
  std::unique_ptr<Node> start(const std::string& name) {
    NodeOptions options;
    options.name = name;
    options.hub = &hub;
    return Node::start(std::move(options), kinds).value();
  }

  /// A message to the node's actor, as an honest peer would send it.
  Frame message(std::uint64_t message_id, std::uint64_t source = 7) {
    Frame frame;
    frame.header.source = source;
    frame.header.target = node->ref(actor).actor;
    frame.header.message_id = message_id;
    frame.header.type = capnp::typeId<msg::Address>();
    frame.body = Note::build([](msg::Address::Builder b) { b.setPort(9); }).body();
    frame.header.body_bytes = static_cast<std::uint32_t>(frame.body.size());
    return frame;
  }
  void send(Frame frame) { (void)mallory->send(node->self().id, std::move(frame)); }
  /// Everything sent before has been worked off: the node answers a request.
  void wait_for_an_answer() {
    const auto before = at_mallory.log().frames.size();
    send(message(normal | 1));
    BOOST_REQUIRE(eventually([&] { return at_mallory.log().frames.size() > before; }));
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> node;
  std::unique_ptr<Node> honest;
  caf::actor actor;
  caf::actor silent;
  test::RecordingHandler at_mallory;
  std::unique_ptr<Transport> mallory;
  PeerInfo mallory_info;
};

BOOST_AUTO_TEST_CASE(a_message_number_of_any_value_does_no_harm) {
  Cluster cluster;
  for (std::uint64_t top = 0; top < 16; ++top) {
    for (const std::uint64_t low : {0ull, 1ull, 0x0fffffffffffffffull}) {
      cluster.send(cluster.message(top << 60 | low));
    }
  }
  cluster.wait_for_an_answer();
}

BOOST_AUTO_TEST_CASE(nobody_answers_a_request_but_the_node_that_was_asked) {
  Cluster cluster;
  caf::scoped_actor self{cluster.node->system()};
  const auto near = cluster.node->resolve(cluster.honest->ref(cluster.silent));
  auto request = self->request(near, patience, Note::build([](auto) {}));
  for (std::uint64_t number = 1; number < 100; ++number) {
    for (const auto kind : {FrameKind::data, FrameKind::void_reply}) {
      auto forged = cluster.message(response | normal | number);
      forged.header.kind = kind;
      forged.header.target = self->id();
      cluster.send(std::move(forged));
    }
  }
  cluster.wait_for_an_answer();
  caf::anon_send_exit(cluster.silent, caf::exit_reason::kill);
  cluster.silent = nullptr;
  cluster.honest.reset();
  std::optional<Error> error;
  request.receive([](const Note&) {}, [&](const caf::error& e) { error = from_caf(e); });
  BOOST_REQUIRE(error);
  BOOST_CHECK(error->code == ErrorCode::unavailable);
}

BOOST_AUTO_TEST_CASE(senders_that_do_not_exist_take_no_memory) {
  Cluster cluster;
  cluster.wait_for_an_answer();
  const auto before = ::mallinfo2().uordblks;
  for (std::uint64_t round = 0; round < 100; ++round) {
    for (std::uint64_t i = 0; i < 2000; ++i) {
      cluster.send(cluster.message(normal, 1000 + 2000 * round + i));
    }
    cluster.wait_for_an_answer();
  }
  const auto after = ::mallinfo2().uordblks;
  BOOST_TEST(after < before + (8u << 20));
}

BOOST_AUTO_TEST_CASE(monitors_and_links_take_bounded_memory) {
  Cluster cluster;
  cluster.wait_for_an_answer();
  const auto before = ::mallinfo2().uordblks;
  const auto again = [&](FrameKind kind, std::uint64_t source, bool there) {
    Frame frame;
    frame.header.kind = kind;
    frame.header.source = source;
    frame.header.target = there ? cluster.node->ref(cluster.actor).actor : 99999;
    cluster.send(std::move(frame));
  };
  for (std::uint64_t i = 0; i < 20000; ++i) {
    again(FrameKind::monitor, 0, true);
    again(FrameKind::demonitor, 0, true);
    again(FrameKind::link, 7, true);
    again(FrameKind::unlink, 7, true);
    again(FrameKind::link, 1000 + i, false);
  }
  cluster.wait_for_an_answer();
  BOOST_TEST(::mallinfo2().uordblks < before + (4u << 20));
}

BOOST_AUTO_TEST_CASE(frames_of_every_kind_for_nobody_are_dropped) {
  Cluster cluster;
  for (unsigned kind = 0; kind < 256; ++kind) {
    for (const std::uint64_t target : {std::uint64_t{0}, std::uint64_t{12345}, ~std::uint64_t{0}}) {
      auto frame = cluster.message(normal | 5);
      frame.header.kind = static_cast<FrameKind>(kind);
      frame.header.target = target;
      frame.header.source = ~target;
      cluster.send(frame);
      frame.body = {};
      cluster.send(std::move(frame));
    }
  }
  cluster.wait_for_an_answer();
}

}  // namespace
}  // namespace troupe
