// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/supervisor.hpp"

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/process_host.hpp"
#include "actors/core/reason.hpp"
#include "actors/net/loopback_transport.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <atomic>
#include <mutex>
#include <stdexcept>

namespace troupe {
namespace {

using test::eventually;
constexpr auto patience = std::chrono::seconds(20);

caf::behavior worker(caf::event_based_actor* self) {
  keep_first_cause(*self);
  return {[](const std::string& what) { throw std::runtime_error(what); },
          [=](bool) { self->set_exit_handler([](caf::exit_msg&) {}); },
          [=](caf::ok_atom) { self->quit(); }};
}

/// A supervisor over children that the test can reach, and what it said.
struct Theatre {
  Theatre() {
    register_node_messages(kinds);
    NodeOptions options;
    options.name = "test";
    options.hub = &hub;
    node = Node::start(std::move(options), kinds).value();
  }
  ~Theatre() {
    if (!supervisor) return;
    caf::scoped_actor self{node->system()};
    self->send_exit(supervisor, caf::exit_reason::user_shutdown);
    self->wait_for(supervisor);
    supervisor = nullptr;
    children.clear();
  }

  void add(Restart restart) {
    const auto index = children.size();
    children.emplace_back();
    starts.push_back(0);
    ChildSpec child;
    child.path = "/jobs/test/w/" + std::to_string(index);
    child.restart = restart;
    child.index = static_cast<std::uint32_t>(index);
    child.leader = leader;
    child.starter = make_local_starter([this, index]() -> Result<caf::actor> {
      const std::lock_guard lock(mutex);
      ++starts[index];
      if (refuse) return fail(ErrorCode::not_found, "no such program");
      return children[index] = node->system().spawn(worker);
    });
    spec.children.push_back(std::move(child));
  }
  void go() {
    spec.path = "/jobs/test";
    spec.emit = [this](Event event) {
      const std::lock_guard lock(mutex);
      events.push_back(std::move(event));
    };
    supervisor = spawn_supervisor(*node, std::move(spec));
    BOOST_REQUIRE(eventually([&] { return refuse || count("actor_up") == starts.size(); }));
  }
  std::size_t count(const std::string& name) {
    const std::lock_guard lock(mutex);
    return static_cast<std::size_t>(std::count_if(
        events.begin(), events.end(), [&](const Event& event) { return event.name == name; }));
  }
  int started(std::size_t index) {
    const std::lock_guard lock(mutex);
    return starts[index];
  }
  caf::actor child(std::size_t index) {
    const std::lock_guard lock(mutex);
    return children[index];
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> node;
  std::mutex mutex;
  bool refuse = false;
  std::vector<caf::actor> children;
  std::vector<int> starts;
  std::vector<Event> events;
  caf::actor leader;
  SupervisorSpec spec;
  caf::actor supervisor;
};

Error reason_of(Theatre& theatre) {
  caf::scoped_actor self{theatre.node->system()};
  self->monitor(theatre.supervisor);
  Error why{ErrorCode::internal, "it lives"};
  self->receive([&](const caf::down_msg& down) { why = from_caf(down.reason); },
                caf::after(patience) >> [] {});
  return why;
}

BOOST_AUTO_TEST_CASE(restarts_the_child_that_crashed_and_no_other) {
  Theatre theatre;
  for (int i = 0; i < 3; ++i) theatre.add(Restart::permanent);
  theatre.go();
  caf::anon_send(theatre.child(1), std::string("boom"));
  BOOST_REQUIRE(eventually([&] { return theatre.count("actor_up") == 4; }));
  BOOST_TEST(theatre.started(0) == 1);
  BOOST_TEST(theatre.started(1) == 2);
  BOOST_TEST(theatre.started(2) == 1);
  const std::lock_guard lock(theatre.mutex);
  const auto& down = theatre.events[3];
  BOOST_TEST(down.name == "actor_down");
  BOOST_TEST(std::get<std::string>(down.fields[0].second) == "/jobs/test/w/1");
  BOOST_TEST(std::get<std::string>(down.fields[1].second) == "boom");
}

BOOST_AUTO_TEST_CASE(permanent_transient_and_temporary_differ_in_what_brings_them_back) {
  Theatre theatre;
  theatre.add(Restart::permanent);
  theatre.add(Restart::transient);
  theatre.add(Restart::temporary);
  theatre.add(Restart::permanent);  // keeps the supervisor alive
  theatre.go();
  for (std::size_t i = 0; i < 3; ++i) caf::anon_send(theatre.child(i), caf::ok_atom::value);
  BOOST_REQUIRE(eventually([&] { return theatre.count("actor_down") == 3; }));
  BOOST_REQUIRE(eventually([&] { return theatre.started(0) == 2; }));
  BOOST_TEST(theatre.started(1) == 1);
  BOOST_TEST(theatre.started(2) == 1);
}

BOOST_AUTO_TEST_CASE(a_transient_child_that_crashed_is_started_again_and_a_temporary_one_is_not) {
  Theatre theatre;
  theatre.add(Restart::transient);
  theatre.add(Restart::temporary);
  theatre.go();
  for (std::size_t i = 0; i < 2; ++i) caf::anon_send(theatre.child(i), std::string("boom"));
  BOOST_REQUIRE(eventually([&] { return theatre.count("actor_up") == 3; }));
  BOOST_TEST(theatre.started(0) == 2);
  BOOST_TEST(theatre.started(1) == 1);
}

BOOST_AUTO_TEST_CASE(gives_up_when_the_budget_is_spent_and_names_child_and_cause) {
  Theatre theatre;
  theatre.spec.budget = RestartBudget(2, std::chrono::seconds(60));
  theatre.add(Restart::permanent);
  theatre.add(Restart::permanent);
  theatre.go();
  for (int crash = 0; crash < 3; ++crash) {
    const auto ups = theatre.count("actor_up");
    caf::anon_send(theatre.child(0), std::string("boom"));
    if (crash < 2) BOOST_REQUIRE(eventually([&] { return theatre.count("actor_up") == ups + 1; }));
  }
  const auto why = reason_of(theatre);
  theatre.supervisor = nullptr;
  BOOST_CHECK(why.code == ErrorCode::resource_exhausted);
  BOOST_TEST(why.what == "/jobs/test gave up: /jobs/test/w/0 ended too often; the last time: boom");
  BOOST_TEST(theatre.started(0) == 3);
  caf::anon_send_exit(theatre.child(1), caf::exit_reason::kill);
}

BOOST_AUTO_TEST_CASE(a_child_that_cannot_be_started_spends_the_budget_too) {
  Theatre theatre;
  theatre.refuse = true;
  theatre.spec.budget = RestartBudget(2, std::chrono::seconds(60));
  theatre.add(Restart::permanent);
  theatre.go();
  const auto why = reason_of(theatre);
  theatre.supervisor = nullptr;
  BOOST_TEST(why.what.find("no such program") != std::string::npos);
  BOOST_TEST(theatre.started(0) == 3);
}

BOOST_AUTO_TEST_CASE(the_leader_hears_of_members_that_come_and_go) {
  Theatre theatre;
  std::atomic<int> ups{0};
  std::atomic<int> downs{0};
  theatre.leader = theatre.node->system().spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[&](const MemberUp& up) { ups += 1 + 10 * static_cast<int>(up.index); },
            [&](const MemberDown& down) { downs += down.why.what == "boom" ? 1 : 100; }};
  });
  theatre.add(Restart::permanent);
  theatre.add(Restart::permanent);
  theatre.go();
  caf::anon_send(theatre.child(1), std::string("boom"));
  BOOST_TEST(eventually([&] { return ups == 1 + 11 + 11 && downs == 1; }));
  caf::anon_send_exit(theatre.leader, caf::exit_reason::kill);
  theatre.leader = nullptr;
}

BOOST_AUTO_TEST_CASE(ends_normally_when_nobody_is_left_who_should_live) {
  Theatre theatre;
  theatre.add(Restart::transient);
  theatre.go();
  caf::anon_send(theatre.child(0), caf::ok_atom::value);
  BOOST_TEST(reason_of(theatre).what == "ended normally");
  theatre.supervisor = nullptr;
}

BOOST_AUTO_TEST_CASE(told_to_exit_it_stops_all_children_and_restarts_none) {
  Theatre theatre;
  for (int i = 0; i < 3; ++i) theatre.add(Restart::permanent);
  theatre.go();
  caf::scoped_actor self{theatre.node->system()};
  for (std::size_t i = 0; i < 3; ++i) self->monitor(theatre.child(i));
  self->send_exit(theatre.supervisor, caf::exit_reason::user_shutdown);
  for (int i = 0; i < 3; ++i) {
    bool normal = false;
    self->receive([&](const caf::down_msg& down) { normal = is_normal_end(down.reason); },
                  caf::after(patience) >> [] {});
    BOOST_TEST(normal);
  }
  self->wait_for(theatre.supervisor);
  theatre.supervisor = nullptr;
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(theatre.started(i) == 1);
}

BOOST_AUTO_TEST_CASE(one_for_all_starts_all_again_and_says_why) {
  Theatre theatre;
  theatre.spec.strategy = Strategy::one_for_all;
  std::atomic<int> told{0};
  theatre.leader = theatre.node->system().spawn([&](caf::event_based_actor*) -> caf::behavior {
    return {[](const MemberUp&) {},
            [&](const MemberDown& down) {
              const auto why = "stopped to start again with /jobs/test/w/1, which ended: boom";
              if (down.comes_back && down.why.what == (down.index == 1 ? "boom" : why)) ++told;
            }};
  });
  for (int i = 0; i < 3; ++i) theatre.add(Restart::permanent);
  theatre.go();
  const auto before = theatre.child(0);
  caf::anon_send(theatre.child(1), std::string("boom"));
  BOOST_REQUIRE(eventually([&] { return theatre.count("actor_up") == 6; }));
  for (std::size_t i = 0; i < 3; ++i) BOOST_TEST(theatre.started(i) == 2);
  BOOST_TEST((theatre.child(0) != before));
  BOOST_TEST(theatre.count("actor_down") == 3u);
  BOOST_TEST(eventually([&] { return told == 3; }));
  caf::anon_send_exit(theatre.leader, caf::exit_reason::kill);
  theatre.leader = nullptr;
}

BOOST_AUTO_TEST_CASE(who_does_not_stop_when_asked_is_killed) {
  Theatre theatre;
  for (int i = 0; i < 2; ++i) theatre.add(Restart::permanent);
  theatre.spec.children[1].shutdown = {Millis(20)};
  theatre.go();
  caf::anon_send(theatre.child(1), true);
  caf::scoped_actor self{theatre.node->system()};
  for (std::size_t i = 0; i < 2; ++i) self->monitor(theatre.child(i));
  self->send_exit(theatre.supervisor, caf::exit_reason::user_shutdown);
  std::vector<bool> normal;
  for (int i = 0; i < 2; ++i) {
    self->receive([&](const caf::down_msg& down) { normal.push_back(is_normal_end(down.reason)); },
                  caf::after(patience) >> [] {});
  }
  BOOST_TEST(normal == (std::vector<bool>{false, true}));  // in reverse order
  self->wait_for(theatre.supervisor);
  theatre.supervisor = nullptr;
}

struct Recorder final : ActorObserver {
  void expect(const ActorSeat&) override {}
  void up(const ActorLife& life) override { note("up " + life.path); }
  void down(const std::string& path, const Error& why, bool comes_back) override {
    note("down " + path + ": " + why.what + (comes_back ? ", comes back" : ""));
  }
  void waiting(const std::string& path, const std::string&) override { note("waits " + path); }
  void note(std::string what) {
    const std::lock_guard lock(mutex);
    notes.push_back(std::move(what));
  }
  bool has(const std::string& what) {
    const std::lock_guard lock(mutex);
    return std::find(notes.begin(), notes.end(), what) != notes.end();
  }

  std::mutex mutex;
  std::vector<std::string> notes;
};

BOOST_AUTO_TEST_CASE(ends_a_child_on_request_and_tells_its_observer) {
  Theatre theatre;
  const auto recorder = std::make_shared<Recorder>();
  theatre.spec.observer = recorder;
  theatre.add(Restart::permanent);
  theatre.add(Restart::transient);
  theatre.go();
  caf::anon_send(theatre.supervisor, EndChild{"/jobs/test/w/0", "by hand", false, 0});
  BOOST_TEST(eventually([&] { return theatre.started(0) == 2; }));
  BOOST_TEST(recorder->has("down /jobs/test/w/0: by hand, comes back"));
  caf::anon_send(theatre.supervisor, EndChild{"/jobs/test/w/1", "enough", true, 0});
  BOOST_TEST(eventually([&] { return recorder->has("down /jobs/test/w/1: ended normally"); }));
  BOOST_TEST(theatre.started(1) == 1);
  BOOST_TEST(recorder->has("up /jobs/test/w/0"));
}

}  // namespace
}  // namespace troupe
