// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/snapshot.hpp"

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/process_host.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/host_messages.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/supervise.capnp.h"
#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

namespace troupe {
namespace {

using test::eventually;
constexpr auto patience = std::chrono::seconds(20);
const std::string path = "/jobs/test/w/0";

Slice slice(const std::string& text) { return Slice::own(text); }
std::string text(const Slice& slice) {
  return {reinterpret_cast<const char*>(slice.data()), slice.size()};
}

/// Two nodes: on one a supervisor, on the other its child, which the other's node actor makes.
/// The child keeps what it is told, and crashes when it is told to.
struct Scene {
  Scene() {
    register_node_messages(kinds);
    ActorKind kind;
    kind.name = "worker";
    kind.spawn = [this](const SpawnContext& context) -> Result<caf::actor> {
      const std::lock_guard lock(mutex);
      lives.push_back(context.kept);
      return children.emplace_back(
          context.node.system().spawn([](caf::event_based_actor* self) -> caf::behavior {
            keep_first_cause(*self);
            return {[](const std::string& what) { throw std::runtime_error(what); }};
          }));
    };
    kinds.add(std::move(kind));
    here = start("here");
    there = start("there");
    here->connect(there->self().control);
    SupervisorSpec spec;
    spec.path = "/jobs/test";
    ChildSpec child;
    child.path = path;
    child.starter = make_local_starter([this](const Kept& kept) { return spawn_there(kept); });
    spec.children.push_back(std::move(child));
    supervisor = spawn_supervisor(*here, std::move(spec));
    BOOST_REQUIRE(eventually([&] { return count() == 1; }));
  }
  ~Scene() {
    caf::scoped_actor self{here->system()};
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    self->wait_for(supervisor);
    supervisor = nullptr;
    children.clear();
    lives.clear();
  }

  std::unique_ptr<Node> start(const std::string& name) {
    NodeOptions options;
    options.name = name;
    options.hub = &hub;
    return Node::start(std::move(options), kinds).value();
  }
  Result<caf::actor> spawn_there(const Kept& kept) {
    const auto request = Msg<msg::Spawn>::build(
        [&](msg::Spawn::Builder b) {
          b.setKind("worker");
          b.setPath(path);
          write_kept(b, *here, kept);
        },
        kept.state);
    caf::scoped_actor self{here->system()};
    Result<caf::actor> made = fail(ErrorCode::timeout, "no answer");
    self->request(here->node_actor_of(there->self()), patience, request)
        .receive(
            [&](const Msg<msg::Spawned>& answer) {
              made = here->resolve(
                  {there->self().id, there->self().control, answer.read()->getActor()});
            },
            [&](const caf::error& why) { made = Failure(from_caf(why)); });
    return made;
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return lives.size();
  }
  /// What the life with that number, from 0, was made with.
  Kept life(std::size_t index) {
    const std::lock_guard lock(mutex);
    return lives.at(index);
  }
  /// Ends the child; gives what the next one was made with.
  std::string crash() {
    const auto before = count();
    caf::actor child;
    {
      const std::lock_guard lock(mutex);
      child = children.back();
    }
    // Its DOWN comes behind what was sent to the supervisor from the same node.
    caf::anon_send(child, std::string("boom"));
    BOOST_REQUIRE(eventually([&] { return count() == before + 1; }));
    return text(life(before).state);
  }

  std::mutex mutex;
  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> here;
  std::unique_ptr<Node> there;
  std::vector<Kept> lives;
  std::vector<caf::actor> children;
  caf::actor supervisor;
};

BOOST_AUTO_TEST_CASE(the_next_life_gets_what_the_last_one_has_left_on_another_node) {
  Scene scene;
  BOOST_TEST(scene.life(0).state.empty());
  const auto first = scene.life(0);
  BOOST_TEST(test::why(keep_snapshot(path, first, slice("one"))) == "");
  BOOST_TEST(test::why(keep_snapshot(path, first, slice("two"))) == "");
  BOOST_TEST(scene.crash() == "two");
  BOOST_TEST(scene.life(1).life == first.life + 1);
  BOOST_TEST(scene.crash() == "two");  // the second has left nothing
  // A life that was taken for dead does not undo what a later one has left.
  BOOST_TEST(test::why(keep_snapshot(path, scene.life(2), slice("three"))) == "");
  BOOST_TEST(test::why(keep_snapshot(path, first, slice("late"))) == "");
  BOOST_TEST(scene.crash() == "three");
}

BOOST_AUTO_TEST_CASE(too_much_is_refused_and_leaves_what_was_kept) {
  Scene scene;
  const auto kept = scene.life(0);
  const std::string large(max_snapshot, 'x');
  BOOST_TEST(test::why(keep_snapshot(path, kept, slice(large))) == "");
  BOOST_TEST(test::why(keep_snapshot(path, kept, slice(large + "x"))) ==
             path + ": a snapshot of 1048577 bytes; its supervisor keeps at most 1048576");
  // Who does not ask first is not believed either, nor is somebody that is no child.
  const auto send = [&](const std::string& whose, std::uint64_t life, const std::string& what) {
    caf::anon_send(kept.keeper, Msg<msg::Snapshot>::build(
                                    [&](msg::Snapshot::Builder b) {
                                      b.setPath(whose);
                                      b.setLife(life);
                                    },
                                    slice(what)));
  };
  send(path, kept.life, large + "x");
  send(path, kept.life + 1, "of a life to come");
  send("/jobs/test/w/1", kept.life, "of another");
  BOOST_TEST((scene.crash() == large));
}

BOOST_AUTO_TEST_CASE(who_has_no_supervisor_is_told_that_nobody_keeps_it) {
  BOOST_TEST(test::why(keep_snapshot(path, {}, slice("x"))) == path + ": nobody keeps its state");
}

}  // namespace
}  // namespace troupe
