// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/path_router.hpp"

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/process_host.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "actors/net/loopback_transport.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

namespace troupe {
namespace {

constexpr auto patience = std::chrono::seconds(20);

/// Answers a number with itself and the number of its life.
caf::behavior worker(caf::event_based_actor* self, int life) {
  keep_first_cause(*self);
  return {[=](int number) { return 1000 * life + number; },
          [](const std::string& what) { throw std::runtime_error(what); }};
}

struct Fixture {
  explicit Fixture(std::size_t capacity = 3) {
    register_node_messages(kinds);
    NodeOptions options;
    options.name = "test";
    options.hub = &hub;
    node = Node::start(std::move(options), kinds).value();
    router.emplace(node->system(), capacity);
  }
  ~Fixture() {
    for (const auto& actor : workers) caf::anon_send_exit(actor, caf::exit_reason::kill);
    workers.clear();
    router.reset();
  }
  caf::actor start(int life) {
    workers.push_back(node->system().spawn(worker, life));
    return workers.back();
  }
  /// Asks and waits; the text of the error, or the number.
  std::string ask(const caf::actor& whom, int number) {
    caf::scoped_actor self{node->system()};
    std::string said;
    self->request(whom, patience, number)
        .receive([&](int answer) { said = std::to_string(answer); },
                 [&](const caf::error& why) { said = from_caf(why).what; });
    return said;
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> node;
  std::optional<PathRouter> router;
  std::vector<caf::actor> workers;
};

BOOST_AUTO_TEST_SUITE(path_router)

BOOST_AUTO_TEST_CASE(an_address_is_whoever_lives_there_now) {
  Fixture f;
  const auto address = f.router->at("/jobs/x/w/0");
  BOOST_TEST((address == f.router->at("/jobs/x/w/0")));
  f.router->up("/jobs/x/w/0", f.start(1));
  BOOST_TEST(f.ask(address, 5) == "1005");
  f.router->down("/jobs/x/w/0", {}, true);
  f.router->up("/jobs/x/w/0", f.start(2));
  BOOST_TEST(f.ask(address, 5) == "2005");
  BOOST_TEST((f.router->now_at("/jobs/x/w/0") == f.workers.back()));
  BOOST_TEST(f.ask(f.router->at("/jobs/x/w/0"), 6) == "2006");
}

BOOST_AUTO_TEST_CASE(what_is_sent_during_a_restart_waits_and_keeps_its_order) {
  Fixture f;
  f.router->up("/w", f.start(1));
  const auto address = f.router->at("/w");
  f.router->down("/w", {}, true);
  caf::scoped_actor self{f.node->system()};
  std::vector<int> answers;
  std::vector<decltype(self->request(address, patience, 1))> asked;
  for (int i = 0; i < 3; ++i) asked.push_back(self->request(address, patience, i));
  f.router->up("/w", f.start(2));
  for (auto& one : asked) {
    one.receive([&](int answer) { answers.push_back(answer); }, [](const caf::error&) {});
  }
  BOOST_TEST(answers == (std::vector<int>{2000, 2001, 2002}));
  BOOST_TEST(f.router->dropped() == 0u);
}

BOOST_AUTO_TEST_CASE(a_full_buffer_is_an_error_for_who_asks) {
  Fixture f(2);
  const auto address = f.router->at("/w");
  caf::scoped_actor self{f.node->system()};
  self->send(address, 1);
  self->send(address, 2);
  BOOST_TEST(f.ask(address, 3) == "/w is being started, and 2 messages wait for it already");
  self->send(address, 4);  // nobody to tell: counted
  BOOST_TEST(f.router->dropped() == 2u);
}

BOOST_AUTO_TEST_CASE(who_does_not_come_back_answers_with_the_reason_and_its_address_is_down) {
  Fixture f;
  const auto address = f.router->at("/w");
  caf::scoped_actor self{f.node->system()};
  self->monitor(address);
  auto asked = self->request(address, patience, 1);
  f.router->down("/w", {ErrorCode::aborted, "boom"}, false);
  std::string said;
  asked.receive([](int) {}, [&](const caf::error& why) { said = from_caf(why).what; });
  BOOST_TEST(said == "/w does not come back: boom");
  Error down;
  self->receive([&](const caf::down_msg& news) { down = from_caf(news.reason); },
                caf::after(patience) >> [] {});
  BOOST_TEST(down.what == "/w does not come back: boom");
  BOOST_TEST(f.ask(address, 2) == "/w does not come back: boom");
}

BOOST_AUTO_TEST_CASE(supervisors_say_who_lives_where) {
  Fixture f;
  int lives = 0;
  SupervisorSpec spec;
  spec.path = "/jobs/x";
  ChildSpec child;
  child.path = "/jobs/x/w/0";
  child.starter = make_local_starter([&]() -> Result<caf::actor> { return f.start(++lives); });
  spec.children.push_back(std::move(child));
  const auto supervisor = spawn_supervisor(*f.node, std::move(spec));
  const auto address = f.node->paths().at("/jobs/x/w/0");
  BOOST_TEST(f.ask(address, 7) == "1007");
  caf::anon_send(address, std::string("boom"));
  BOOST_TEST(test::eventually([&] { return f.ask(address, 7) == "2007"; }));
  caf::scoped_actor self{f.node->system()};
  self->send_exit(supervisor, caf::exit_reason::user_shutdown);
  self->wait_for(supervisor);
  BOOST_TEST(f.ask(address, 7).find("does not come back") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
