// SPDX-License-Identifier: Apache-2.0
//
// Whole nodes on a network inside this process.
#include "actors/core/membership/membership.hpp"

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/remote/net_module.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/membership.capnp.h"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <mutex>
#include <optional>

namespace troupe {
namespace {

using test::eventually;

struct Cluster {
  Cluster() { register_node_messages(kinds); }

  std::unique_ptr<Node> start(const std::string& name, NodeRole role = NodeRole::host) {
    NodeOptions options;
    options.name = name;
    options.hub = &hub;
    options.role = role;
    options.offer = {{"name=" + name}, 2, 1_GiB};
    return Node::start(std::move(options), kinds).value();
  }

  LoopbackHub hub;
  ActorKinds kinds;
};

std::optional<Member> seen(Node& node, const NodeId& id) {
  for (auto& member : node.membership().members()) {
    if (member.id == id) return member;
  }
  return std::nullopt;
}
bool sees(Node& node, const NodeId& id, MemberState state) {
  const auto member = seen(node, id);
  return member && member->state == state;
}

BOOST_FIXTURE_TEST_CASE(who_joins_one_meets_all_and_learns_what_they_offer, Cluster) {
  const auto a = start("a", NodeRole::control);
  const auto b = start("b");
  const auto c = start("c");
  b->connect(a->self().control);
  c->connect(a->self().control);
  for (auto* here : {a.get(), b.get(), c.get()}) {
    for (auto* there : {a.get(), b.get(), c.get()}) {
      BOOST_REQUIRE(eventually([&] { return sees(*here, there->self().id, MemberState::alive); }));
      BOOST_REQUIRE(eventually(
          [&] { return seen(*here, there->self().id)->offer.memory.count == (1_GiB).count; }));
    }
  }
  const auto member = seen(*c, a->self().id).value();
  BOOST_TEST((member.role == NodeRole::control));
  BOOST_TEST(member.offer.labels == std::vector<std::string>{"name=a"});
}

BOOST_FIXTURE_TEST_CASE(workers_and_clients_are_not_counted, Cluster) {
  const auto a = start("a");
  const auto worker = start("w", NodeRole::worker);
  const auto b = start("b");
  worker->connect(a->self().control);
  b->connect(a->self().control);
  BOOST_REQUIRE(eventually([&] { return sees(*b, a->self().id, MemberState::alive); }));
  BOOST_REQUIRE(eventually([&] { return sees(*worker, a->self().id, MemberState::alive); }));
  BOOST_TEST(!seen(*a, worker->self().id));
}

BOOST_FIXTURE_TEST_CASE(who_leaves_is_leaving_and_then_has_left, Cluster) {
  const auto a = start("a");
  auto b = start("b");
  b->connect(a->self().control);
  const auto id = b->self().id;
  BOOST_REQUIRE(eventually([&] { return sees(*a, id, MemberState::alive); }));
  b->membership().leave();
  BOOST_REQUIRE(eventually([&] { return sees(*a, id, MemberState::leaving); }));
  b.reset();
  BOOST_REQUIRE(eventually([&] { return sees(*a, id, MemberState::left); }));
  BOOST_TEST(seen(*a, id)->confirmed);
}

/// What a watcher was told.
struct Told {
  std::mutex mutex;
  std::vector<MemberState> states;
  std::optional<Error> over;
};

BOOST_FIXTURE_TEST_CASE(watchers_hear_of_others_and_of_the_end_of_their_own_incarnation, Cluster) {
  Told told;
  const auto a = start("a");
  const auto b = start("b");
  const auto watcher = b->system().spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](const MemberChanged& changed) {
              const std::lock_guard lock(told.mutex);
              if (changed.member.id.name == "a") told.states.push_back(changed.member.state);
            },
            [&](const IncarnationOver& over) {
              const std::lock_guard lock(told.mutex);
              told.over = over.why;
            }};
  });
  b->membership().watch(watcher);
  b->connect(a->self().control);
  BOOST_REQUIRE(eventually([&] { return sees(*a, b->self().id, MemberState::alive); }));
  BOOST_REQUIRE(eventually([&] { return sees(*b, a->self().id, MemberState::alive); }));
  a->system().network_manager().remote().drop(b->self().id,
                                              {ErrorCode::aborted, "declared dead by a"});
  BOOST_REQUIRE(eventually([&] {
    const std::lock_guard lock(told.mutex);
    return told.over.has_value();
  }));
  const std::lock_guard lock(told.mutex);
  BOOST_TEST((told.over->code == ErrorCode::aborted));
  BOOST_TEST((told.states.front() == MemberState::alive));
  BOOST_TEST((told.states.back() == MemberState::down));
  caf::anon_send_exit(watcher, caf::exit_reason::kill);
}

BOOST_FIXTURE_TEST_CASE(broken_news_are_dropped_and_the_membership_lives_on, Cluster) {
  const auto a = start("a");
  const auto b = start("b");
  b->connect(a->self().control);
  BOOST_REQUIRE(eventually([&] { return sees(*b, a->self().id, MemberState::alive); }));
  const auto target = b->resolve({a->self().id, a->self().control, membership_actor});
  caf::anon_send(target, Msg<msg::MemberNews>::build(
                             [](msg::MemberNews::Builder news) { news.initMembers(100'000); }));
  caf::anon_send(target, Msg<msg::MemberProbe>::build([](msg::MemberProbe::Builder) {}));
  // What points to nowhere is found when it is read.
  auto words = std::vector<std::uint64_t>{0x0000000200000000, 0x7ffffff000000000, 0};
  caf::anon_send(target, Msg<msg::MemberNews>(Slice::own(std::move(words)), {}));
  const auto c = start("c");
  c->connect(a->self().control);
  BOOST_TEST(eventually([&] { return sees(*a, c->self().id, MemberState::alive); }));
}

}  // namespace
}  // namespace troupe
