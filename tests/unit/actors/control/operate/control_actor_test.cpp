// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/control_actor.hpp"

#include "actors/core/ask.hpp"
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/process_host.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/control.capnp.h"
#include "tests/support/scratch.hpp"
#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>
#include <thread>

namespace troupe {
namespace {

using test::eventually;

caf::behavior worker(caf::event_based_actor*) {
  return {[](caf::unit_t) {}};
}

/// A node with its control actor.
struct Member {
  Member(LoopbackHub& hub, const std::string& name, const ActorKinds& kinds) {
    NodeOptions options;
    options.name = name;
    options.hub = &hub;
    node = Node::start(std::move(options), kinds).value();
    control = spawn_control_actor(*node, {.table = table,
                                          .home = home.path(),
                                          .drain = [this] { ++drained; },
                                          .relay_limit = std::chrono::milliseconds(200)});
  }
  ~Member() {
    caf::scoped_actor self{node->system()};
    self->send_exit(control, caf::exit_reason::user_shutdown);
    self->wait_for(control);
    control = nullptr;
  }
  [[nodiscard]] std::string id() const { return to_string(node->self().id); }

  test::Scratch home;
  std::shared_ptr<LiveTable> table = std::make_shared<LiveTable>();
  std::atomic<int> drained{0};
  std::unique_ptr<Node> node;
  caf::actor control;
};

struct Cluster {
  Cluster() {
    register_node_messages(kinds);
    register_control_messages(kinds);
    a = std::make_unique<Member>(hub, "a", kinds);
    b = std::make_unique<Member>(hub, "b", kinds);
    b->node->connect(a->node->self().control);
    BOOST_REQUIRE(eventually([&] { return peers() == std::set<std::string>{b->id()}; }));
  }

  /// Asks node a.
  template <class Answer, class Request, class Fill>
  Result<Msg<Answer>> ask(Fill fill) {
    caf::scoped_actor self{a->node->system()};
    Result<Msg<Answer>> result = fail(ErrorCode::timeout, "no answer at all");
    troupe::ask(self, a->control, Millis(10000), Msg<Request>::build(fill))
        .receive([&](const Msg<Answer>& answer) { result = answer; },
                 [&](const caf::error& why) { result = Failure(from_caf(why)); });
    return result;
  }
  Result<Msg<msg::ControlPage>> page(const std::string& node, const std::string& after = {},
                                     bool ended = false, std::uint32_t limit = 500) {
    return ask<msg::ControlPage, msg::ControlList>([&](msg::ControlList::Builder to) {
      to.setNode(node);
      to.setAfter(after);
      to.setEnded(ended);
      to.setLimit(limit);
    });
  }
  Result<Msg<msg::ControlDone>> kill(const std::string& node, const std::string& path, bool stop) {
    return ask<msg::ControlDone, msg::ControlKill>([&](msg::ControlKill::Builder to) {
      to.setNode(node);
      to.setPath(path);
      to.setStop(stop);
      to.setBy("client.1");
    });
  }
  std::set<std::string> peers() {
    std::set<std::string> names;
    const auto answer = page({});
    auto view = answer.value().read();
    for (const auto peer : view->getPeers()) {
      names.insert(std::string(peer.getName()) + "/" + std::to_string(peer.getIncarnation()));
    }
    return names;
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Member> a;
  std::unique_ptr<Member> b;
};

/// A supervisor on a node with children that are reported to its table.
caf::actor supervise(Member& on, std::vector<Restart> restarts) {
  SupervisorSpec spec;
  spec.path = "/jobs/j";
  spec.observer = on.table;
  for (std::size_t i = 0; i < restarts.size(); ++i) {
    ChildSpec child;
    child.path = "/jobs/j/w/" + std::to_string(i);
    child.restart = restarts[i];
    child.starter =
        make_local_starter([&on] { return Result<caf::actor>(on.node->system().spawn(worker)); });
    on.table->expect({child.path, "worker", spec.path, "permanent"});
    spec.children.push_back(std::move(child));
  }
  auto supervisor = spawn_supervisor(*on.node, std::move(spec));
  BOOST_REQUIRE(eventually([&] {
    return on.table->read([&](const ActorTable& table) {
      const auto page = table.list("/jobs/j/w", "", 100);
      return std::all_of(page.entries.begin(), page.entries.end(),
                         [](const auto* entry) { return entry->state == ActorState::RUNNING; });
    });
  }));
  return supervisor;
}

void end(Member& on, caf::actor& supervisor) {
  caf::scoped_actor self{on.node->system()};
  self->send_exit(supervisor, caf::exit_reason::user_shutdown);
  self->wait_for(supervisor);
  supervisor = nullptr;
}

BOOST_AUTO_TEST_CASE(a_node_answers_for_itself_and_passes_on_what_is_for_another) {
  Cluster cluster;
  cluster.a->table->up({"/jobs/j", {}, {}, 11});
  cluster.b->table->up({"/jobs/k", {}, {}, 12});
  for (const auto& [node, path] :
       {std::pair(std::string(), "/jobs/j"), std::pair(cluster.a->id(), "/jobs/j"),
        std::pair(cluster.b->id(), "/jobs/k")}) {
    const auto answer = cluster.page(node);
    BOOST_TEST_REQUIRE(answer.has_value(), test::why(answer));
    auto view = answer->read();
    bool found = false;
    for (const auto row : view->getActors()) found |= row.getPath() == path;
    BOOST_TEST(found);
    BOOST_TEST(view->getPid() == static_cast<unsigned>(::getpid()));
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_nobody_knows_or_that_is_gone_is_an_error_that_names_it) {
  Cluster cluster;
  const auto nobody = cluster.page("c/1");
  BOOST_TEST(test::why(nobody) == "node c/1 is not connected to a");
  const auto id = cluster.b->id();
  cluster.b.reset();
  BOOST_REQUIRE(eventually([&] { return cluster.peers().empty(); }));
  BOOST_TEST(test::why(cluster.page(id)).find(id) != std::string::npos);
  const auto ended = cluster.page({}, {}, true);
  auto view = ended.value().read();
  BOOST_TEST_REQUIRE(view->getActors().size() == 1u);
  BOOST_TEST(std::string(view->getActors()[0].getPath()) == "/nodes/b");
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_answer_costs_no_more_than_the_limit) {
  Cluster cluster;
  // Its table is locked: the control actor of b hangs in its handler.
  std::atomic<bool> locked{false};
  std::atomic<bool> go_on{false};
  std::thread holder([&] {
    cluster.b->table->read([&](const ActorTable&) {
      locked = true;
      (void)eventually([&] { return go_on.load(); });
    });
  });
  BOOST_REQUIRE(eventually([&] { return locked.load(); }));
  const auto begin = std::chrono::steady_clock::now();
  const auto answer = cluster.page(cluster.b->id());
  const auto took = std::chrono::steady_clock::now() - begin;
  BOOST_REQUIRE(!answer);
  BOOST_CHECK(answer.error().code == ErrorCode::timeout);
  BOOST_CHECK(took >= std::chrono::milliseconds(200));
  BOOST_CHECK(took < std::chrono::seconds(5));
  go_on = true;
  holder.join();
}

BOOST_AUTO_TEST_CASE(kill_ends_a_life_at_once_and_its_supervisor_begins_another) {
  Cluster cluster;
  auto supervisor = supervise(*cluster.b, {Restart::permanent, Restart::permanent});
  const std::string path = "/jobs/j/w/1";
  const auto done = cluster.kill(cluster.b->id(), path, false);
  BOOST_TEST_REQUIRE(done.has_value(), test::why(done));
  const auto& table = *cluster.b->table;
  BOOST_TEST(eventually([&] {
    return table.read([&](const ActorTable& t) {
      const auto* entry = t.find(path);
      return entry != nullptr && entry->restarts == 1 && entry->state == ActorState::RUNNING;
    });
  }));
  const auto ended = cluster.page(cluster.b->id(), {}, true);
  auto view = ended.value().read();
  BOOST_TEST_REQUIRE(view->getActors().size() == 1u);
  BOOST_TEST(std::string(view->getActors()[0].getCause()) == "troupe kill by client.1");
  BOOST_CHECK(view->getActors()[0].getState() == msg::ActorState::FAILED);
  table.read([](const ActorTable& t) { BOOST_TEST(t.find("/jobs/j/w/0")->restarts == 0u); });
  end(*cluster.b, supervisor);
}

BOOST_AUTO_TEST_CASE(stop_ends_a_transient_actor_for_good_and_a_permanent_one_comes_back) {
  Cluster cluster;
  auto supervisor = supervise(*cluster.a, {Restart::permanent, Restart::transient});
  for (const auto* path : {"/jobs/j/w/0", "/jobs/j/w/1"}) {
    BOOST_REQUIRE(cluster.kill({}, path, true));
  }
  const auto& table = *cluster.a->table;
  BOOST_TEST(eventually([&] {
    return table.read([](const ActorTable& t) {
      const auto* first = t.find("/jobs/j/w/0");
      return t.find("/jobs/j/w/1") == nullptr && first != nullptr && first->restarts == 1;
    });
  }));
  table.read([](const ActorTable& t) {
    for (const auto* entry : t.list_ended("", "", 10).entries) {
      BOOST_CHECK(entry->state == ActorState::ENDED);
    }
  });
  end(*cluster.a, supervisor);
}

BOOST_AUTO_TEST_CASE(nobody_can_be_killed_who_does_not_run) {
  Cluster cluster;
  BOOST_TEST(test::why(cluster.kill({}, "/jobs/j/w/7", false)) == "no actor /jobs/j/w/7");
  cluster.a->table->expect({"/jobs/j/w/7", "worker", "/jobs/j", "permanent"});
  BOOST_TEST(test::why(cluster.kill({}, "/jobs/j/w/7", false)) == "/jobs/j/w/7 does not run now");
}

BOOST_AUTO_TEST_CASE(a_node_is_drained_once_however_often_that_is_asked) {
  Cluster cluster;
  for (int i = 0; i < 3; ++i) {
    const auto done = cluster.ask<msg::ControlDone, msg::ControlDrain>(
        [&](msg::ControlDrain::Builder to) { to.setNode(cluster.b->id()); });
    BOOST_TEST(done.has_value(), test::why(done));
  }
  BOOST_TEST(cluster.b->drained == 1);
  BOOST_TEST(cluster.a->drained == 0);
  BOOST_TEST(cluster.page(cluster.b->id()).value().read()->getDraining());
}

BOOST_AUTO_TEST_CASE(ten_thousand_actors_of_another_node_come_in_bounded_pages) {
  Cluster cluster;
  for (int i = 0; i < 10000; ++i) {
    cluster.b->table->up({"/jobs/j/w/" + std::to_string(i), {{"n", 1}, {}, 1}, {}, 1});
  }
  std::set<std::string> seen;
  std::string after;
  do {
    const auto answer = cluster.page(cluster.b->id(), after, false, 1000000);
    BOOST_TEST_REQUIRE(answer.has_value(), test::why(answer));
    BOOST_TEST_REQUIRE(answer->body().size() < std::size_t{256} << 10);
    auto view = answer->read();
    BOOST_TEST_REQUIRE(view->getActors().size() <= 500u);
    for (const auto row : view->getActors()) seen.insert(row.getPath());
    after = view->getNext();
  } while (!after.empty());
  BOOST_TEST(seen.size() == 10001u);  // and node a, which b knows
}

BOOST_AUTO_TEST_CASE(logs_of_another_node_are_listed_and_read) {
  Cluster cluster;
  const std::string run = "20260501-120000-77";
  const auto logs = cluster.b->home.path() / "digits" / run / "logs" / "w";
  std::filesystem::create_directories(logs);
  std::ofstream(logs / "0.log") << "first\nsecond\n";
  const auto listed = cluster.ask<msg::LogFiles, msg::LogList>([&](msg::LogList::Builder to) {
    to.setNode(cluster.b->id());
    to.setPath("digits");
  });
  BOOST_TEST_REQUIRE(listed.has_value(), test::why(listed));
  BOOST_TEST(std::string(listed->read()->getRun()) == run);
  BOOST_TEST(std::string(listed->read()->getActors()[0]) == "/jobs/digits/w/0");
  const auto part = cluster.ask<msg::LogPart, msg::LogRead>([&](msg::LogRead::Builder to) {
    to.setNode(cluster.b->id());
    to.setActor("/jobs/digits/w/0");
    to.setRun(run);
    to.setOffset(6);
  });
  BOOST_TEST_REQUIRE(part.has_value(), test::why(part));
  const auto bytes = part->read()->getText();
  BOOST_TEST(std::string(reinterpret_cast<const char*>(bytes.begin()), bytes.size()) == "second\n");
  const auto none = cluster.ask<msg::LogPart, msg::LogRead>([&](msg::LogRead::Builder to) {
    to.setActor("/jobs/digits/../../x");
    to.setRun(run);
  });
  BOOST_TEST(test::why(none).find("is neither a job nor") != std::string::npos);
}

}  // namespace
}  // namespace troupe
