// SPDX-License-Identifier: Apache-2.0
//
// The coordinator and trainers as actors of one process.
#include "gpu/easyscale/trainer_actor.hpp"

#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "actors/net/crypto.hpp"
#include "actors/net/loopback_transport.hpp"
#include "gpu/easyscale/coordinator_actor.hpp"
#include "gpu/easyscale/kinds.hpp"
#include "gpu/easyscale/wire_link.hpp"
#include "messages/wire_ids.hpp"
#include "tests/support/wait.hpp"
#include "tests/unit/gpu/easyscale/line_program.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <mutex>

namespace troupe::easyscale {
namespace {

using test::LineProgram;

const caf::duration patience{caf::time_unit::seconds, 20};

struct Stage {
  Stage() {
    register_easyscale(kinds);
    NodeOptions options;
    options.name = "test";
    options.hub = &hub;
    node = Node::start(std::move(options), kinds).value();
  }
  ~Stage() {
    for (const caf::actor& actor : actors) {
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    }
    actors.clear();
    node.reset();  // waits for them, and they may still tell events
  }

  caf::actor coordinator(std::uint32_t count) {
    const auto keep = [this](Event event) {
      const std::lock_guard lock(mutex);
      events.push_back(std::move(event));
    };
    return actors.emplace_back(
        spawn_coordinator(*node, {"/jobs/test/trainers", {count, 2, 1, {}}, keep}));
  }
  caf::actor trainer(Member member, const std::shared_ptr<LineProgram>& program) {
    TrainerSpec spec;
    spec.program = "line";
    spec.programs = {{"line", program}};
    spec.options = options;
    spec.member = member;
    spec.group = 2;
    return actors.emplace_back(spawn_trainer(*node, std::move(spec)));
  }
  std::optional<Event> event(const std::string& name) {
    const std::lock_guard lock(mutex);
    for (const Event& one : events) {
      if (one.name == name) return one;
    }
    return std::nullopt;
  }

  ActorKinds kinds;
  LoopbackHub hub;
  std::unique_ptr<Node> node;
  ReplicaOptions options{7, 2, 4, 1, "", "cpu"};
  std::vector<caf::actor> actors;  // nobody else ends them
  std::mutex mutex;
  std::vector<Event> events;
};

std::string text(const Event& event, std::size_t field) {
  return std::get<std::string>(event.fields.at(field).second);
}

std::string reason_of_end(Stage& stage, const caf::actor& actor) {
  caf::scoped_actor self{stage.node->system()};
  std::string why = "it has not ended";
  self->monitor(actor);
  self->receive([&](const caf::down_msg& down) { why = from_caf(down.reason).what; },
                caf::after(patience) >> [] {});
  return why;
}

BOOST_AUTO_TEST_CASE(the_hash_that_a_job_ends_with_is_that_of_its_models_parameters) {
  Stage stage;
  const auto program = std::make_shared<LineProgram>();
  const auto coordinator = stage.coordinator(2);
  for (Member member = 0; member < 2; ++member) {
    caf::anon_send(coordinator, MemberUp{member, stage.trainer(member, program)});
  }
  BOOST_REQUIRE(troupe::test::eventually([&] { return stage.event("done").has_value(); }));
  const Event done = *stage.event("done");
  BOOST_TEST(done.fields.at(0).first == "params_sha256");
  BOOST_TEST(done.fields.at(1).first == "state_sha256");
  Sha256 expected;
  expected.update(test::bytes_of_parameters(*program->made));
  BOOST_TEST(text(done, 0) == expected.hex());
  BOOST_TEST(text(done, 1).size() == 64U);
  BOOST_TEST(text(done, 1) != text(done, 0));
}

BOOST_AUTO_TEST_CASE(a_trainer_that_gets_a_damaged_state_ends_without_saying_that_it_has_it) {
  Stage stage;
  caf::scoped_actor self{stage.node->system()};
  const auto trainer = stage.trainer(1, std::make_shared<LineProgram>());
  self->monitor(trainer);
  self->send(trainer, Msg<msg::TrainerAttach>::build([](auto b) {
               b.setMember(1);
               b.setTerm(1);
             }));
  bool came_up = false;
  self->receive([&](const Msg<msg::TrainerHello>&) { came_up = true; },
                caf::after(patience) >> [] {});
  BOOST_REQUIRE(came_up);
  const View view{1, 0, {0, 1}, assign_ranks(2, 2), 0, {1}};
  self->send(trainer, to_message(view, [&](Member member, msg::ActorRef::Builder to) {
               write_ref(to, stage.node->ref(member == 1 ? trainer : caf::actor(self)));
             }));
  self->send(trainer, Msg<msg::TrainState>::build([](auto b) { b.setGeneration(1); },
                                                  Slice::own(std::vector<std::byte>(100))));
  bool says_that_it_holds = false;
  std::string why;
  while (why.empty()) {
    self->receive([&](const Msg<msg::TrainHolds>&) { says_that_it_holds = true; },
                  [&](const caf::down_msg& down) { why = from_caf(down.reason).what; },
                  caf::after(patience) >> [&] { why = "it has not ended"; });
  }
  BOOST_TEST(why == "these bytes are no saved training state");
  BOOST_TEST(!says_that_it_holds);
}

BOOST_AUTO_TEST_CASE(a_job_fails_with_the_reason_when_no_trainer_comes_up_or_back) {
  Stage stage;
  const auto coordinator = stage.coordinator(2);
  for (std::uint32_t member = 0; member < 2; ++member) {
    const Error why{ErrorCode::not_found, "no such program"};
    caf::anon_send(coordinator, MemberDown{member, why, false});
  }
  BOOST_TEST(reason_of_end(stage, coordinator) ==
             "all trainers have ended and none is started again; the last one: no such program");
}

BOOST_AUTO_TEST_CASE(a_job_that_stands_still_tells_for_whom_it_waits) {
  Stage stage;
  const auto coordinator = stage.coordinator(1);
  BOOST_REQUIRE(troupe::test::eventually([&] { return stage.event("waiting").has_value(); }));
  BOOST_TEST(text(*stage.event("waiting"), 0) == "trainer 0 to come up");
}

}  // namespace
}  // namespace troupe::easyscale
