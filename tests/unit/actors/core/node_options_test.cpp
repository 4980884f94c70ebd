// SPDX-License-Identifier: Apache-2.0
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/net/loopback_transport.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <string>
#include <utility>

namespace troupe {
namespace {

struct Program {
  Program() { register_node_messages(kinds); }

  Result<std::unique_ptr<Node>> start(SchedulerOptions scheduler, std::string name = "node") {
    NodeOptions options;
    options.name = std::move(name);
    options.hub = &hub;
    options.scheduler = scheduler;
    return Node::start(std::move(options), kinds);
  }

  ActorKinds kinds;
  LoopbackHub hub;
};

caf::atom_value policy_of(Node& node) {
  return caf::get_or(node.system().config(), "scheduler.policy", caf::atom("none"));
}

BOOST_AUTO_TEST_CASE(a_node_has_the_scheduler_that_its_program_asks_for) {
  Program program;
  const auto usual = program.start({});
  BOOST_REQUIRE_MESSAGE(usual, test::why(usual));
  BOOST_CHECK(policy_of(**usual) == caf::atom("sharing"));
  BOOST_TEST((*usual)->system().scheduler().num_workers() >= 2u);
  BOOST_TEST((*usual)->system().scheduler().num_workers() <= 4u);
  const auto asked = program.start({SchedulerOptions::Policy::stealing, 7}, "other");
  BOOST_REQUIRE_MESSAGE(asked, test::why(asked));
  BOOST_CHECK(policy_of(**asked) == caf::atom("stealing"));
  BOOST_TEST((*asked)->system().scheduler().num_workers() == 7u);
}

BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_says_why) {
  Program program;
  const auto threads = program.start({SchedulerOptions::Policy::sharing, 1025});
  BOOST_REQUIRE(!threads);
  BOOST_TEST(threads.error().what == "1025 threads are too many for actors: 1024 at most");
  const auto name = program.start({}, "no/name");
  BOOST_REQUIRE(!name);
  BOOST_TEST(name.error().what.find("is no node name") != std::string::npos);
}

}  // namespace
}  // namespace troupe
