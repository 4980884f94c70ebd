// SPDX-License-Identifier: Apache-2.0
// A program of a user: it brings an actor kind of its own, starts a node that hosts it, and asks an
// actor of that kind something.
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "actors/core/node.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/common.capnp.h"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace {

using Question = troupe::Msg<troupe::msg::Address>;
using Answer = troupe::Msg<troupe::msg::Error>;

caf::behavior greeter(caf::event_based_actor*) {
  return {[](const Question& question) {
    const std::string host = question.read()->getHost();
    return Answer::build([&](auto answer) { answer.setWhat("hello, " + host); });
  }};
}

void register_consumer(troupe::ActorKinds& kinds) {
  kinds.add({.name = "consumer.greeter",
             .program = "consumer",
             .args = capnp::Schema::from<troupe::msg::Address>(),
             .check = {},
             .spawn = [](const troupe::SpawnContext& context) -> troupe::Result<caf::actor> {
               return context.node.system().spawn(greeter);
             },
             .lead = {}});
}

std::string ask(troupe::Node& node, const caf::actor& whom) {
  std::string said;
  caf::scoped_actor self(node.system());
  self->request(whom, std::chrono::seconds(10),
                Question::build([](auto question) { question.setHost("consumer"); }))
      .receive([&](const Answer& answer) { said = answer.read()->getWhat(); },
               [&](const caf::error& error) { said = node.system().render(error); });
  return said;
}

}  // namespace

int main() {
  troupe::ActorKinds kinds;
  register_consumer(kinds);
  troupe::LoopbackHub hub;
  troupe::NodeOptions options;
  options.name = "consumer";
  options.hub = &hub;
  const auto node = troupe::Node::start(std::move(options), kinds);
  if (!node) {
    std::fprintf(stderr, "%s\n", node.error().what.c_str());
    return 1;
  }
  capnp::MallocMessageBuilder args;
  args.initRoot<troupe::msg::Address>();
  troupe::SpawnContext context{.node = **node,
                               .args = args.getRoot<capnp::AnyPointer>().asReader()};
  const auto actor = kinds.find("consumer.greeter")->spawn(context);
  const auto said = actor ? ask(**node, *actor) : actor.error().what;
  std::printf("%s\n", said.c_str());
  return said == "hello, consumer" ? 0 : 1;
}
