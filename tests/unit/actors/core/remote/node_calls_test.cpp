// SPDX-License-Identifier: Apache-2.0
//
// Which nodes are called, and how often, with a transport that only writes down what it is asked.
#include "actors/core/reason.hpp"
#include "actors/core/remote/net_module.hpp"
#include "messages/common.capnp.h"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <optional>
#include <vector>

namespace troupe {
namespace {

using Note = Msg<msg::Address>;
constexpr auto patience = std::chrono::seconds(20);

class Notebook final : public Transport {
 public:
  Result<PeerInfo> start(TransportHandler&) override { return PeerInfo{}; }
  void connect(const Address& to, std::optional<NodeId>) override { called.push_back(to); }
  bool send(const NodeId& to, Frame frame) override {
    sent.emplace_back(to, frame.header.kind);
    return true;
  }
  void drop(const NodeId&, const Error&) override {}
  void stop() override {}

  std::vector<Address> called;
  std::vector<std::pair<NodeId, FrameKind>> sent;
};

struct Scene {
  Scene() {
    types.add<msg::Address>();
    remote.attach(transport, {{"here", 1}, {"127.0.0.1", 1}, "1", 1});
  }
  ~Scene() { remote.detach(); }

  static ActorRef ref(std::uint64_t number) {
    return {{"there", number}, {"127.0.0.1", static_cast<std::uint16_t>(number)}, 7};
  }
  void fail(std::uint64_t number) {
    remote.on_connect_failed(ref(number).control, {ErrorCode::unavailable, "refused"});
  }
  /// Why the handle is down; nothing: it is not.
  std::optional<Error> down(const caf::actor& handle) {
    std::optional<Error> why;
    caf::scoped_actor self{system};
    self->monitor(handle);
    self->receive([&](const caf::down_msg& down) { why = from_caf(down.reason); },
                  caf::after(std::chrono::seconds(0)) >> [] {});
    return why;
  }

  MessageTypes types;
  NodeConfig config{{"here", 1}, types};
  caf::actor_system system{config};
  Notebook transport;
  RemoteActors& remote = system.network_manager().remote();
};

BOOST_AUTO_TEST_CASE(a_node_is_called_once_however_many_handles_name_it) {
  Scene scene;
  const auto first = scene.remote.resolve(scene.ref(2));
  auto other = scene.ref(2);
  other.actor = 8;
  const auto second = scene.remote.resolve(other);
  BOOST_TEST(scene.transport.called.size() == 1u);
  caf::anon_send(first, Note::build([](auto) {}));
  BOOST_TEST(scene.transport.sent.empty());  // it waits for the call
  scene.remote.on_peer_up({scene.ref(2).node, scene.ref(2).control, "1", 1});
  BOOST_TEST(scene.transport.sent.size() == 1u);
  BOOST_TEST(!scene.down(second));
}

BOOST_AUTO_TEST_CASE(a_refused_call_may_be_tried_again) {
  Scene scene;
  const auto first = scene.remote.resolve(scene.ref(2));
  scene.fail(2);
  BOOST_TEST(scene.down(first).has_value());
  const auto second = scene.remote.resolve(scene.ref(2));
  BOOST_TEST(scene.transport.called.size() == 2u);
  BOOST_TEST(!scene.down(second));
  BOOST_TEST(scene.down(first).has_value());  // a handle that is down stays down
  scene.remote.on_peer_up({scene.ref(2).node, scene.ref(2).control, "1", 1});
  scene.transport.sent.clear();
  caf::anon_send(second, Note::build([](auto) {}));
  BOOST_TEST(scene.transport.sent.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_node_that_was_up_and_died_is_never_called_again) {
  Scene scene;
  scene.remote.on_peer_up({scene.ref(2).node, scene.ref(2).control, "1", 1});
  const auto first = scene.remote.resolve(scene.ref(2));
  scene.remote.on_peer_down(scene.ref(2).node, {ErrorCode::unavailable, "killed"});
  BOOST_TEST(scene.down(first).has_value());
  BOOST_TEST(scene.down(scene.remote.resolve(scene.ref(2))).has_value());
  BOOST_TEST(scene.transport.called.empty());
  // Nor is anything taken from it.
  caf::scoped_actor self{scene.system};
  Frame frame;
  frame.header.source = 7;
  frame.header.target = scene.remote.ref(caf::actor_cast<caf::actor>(self)).actor;
  frame.header.type = capnp::typeId<msg::Address>();
  frame.body = Note::build([](auto) {}).body();
  scene.remote.on_frame(scene.ref(2).node, frame);
  bool received = false;
  self->receive([&](const Note&) { received = true; },
                caf::after(std::chrono::seconds(0)) >> [] {});
  BOOST_TEST(!received);
  scene.remote.on_frame(scene.ref(3).node, frame);
  self->receive([&](const Note&) { received = true; }, caf::after(patience) >> [] {});
  BOOST_TEST(received);
}

BOOST_AUTO_TEST_CASE(messages_cannot_make_a_node_call_everybody) {
  Scene scene;
  std::vector<caf::actor> handles;
  for (std::uint64_t i = 2; i < 2 + RemoteActors::max_calls; ++i) {
    handles.push_back(scene.remote.resolve(scene.ref(i)));
    BOOST_REQUIRE(!scene.down(handles.back()));
  }
  for (std::uint64_t i = 1000; i < 2000; ++i) {
    const auto why = scene.down(scene.remote.resolve(scene.ref(i)));
    BOOST_REQUIRE(why);
    BOOST_REQUIRE((why->code == ErrorCode::resource_exhausted));
  }
  BOOST_TEST(scene.transport.called.size() == RemoteActors::max_calls);
  scene.fail(2);
  scene.remote.on_peer_up({scene.ref(3).node, scene.ref(3).control, "1", 1});
  BOOST_TEST(!scene.down(scene.remote.resolve(scene.ref(1000))));
  BOOST_TEST(!scene.down(scene.remote.resolve(scene.ref(1001))));
  BOOST_TEST(scene.down(scene.remote.resolve(scene.ref(1002))).has_value());
}

}  // namespace
}  // namespace troupe
