// SPDX-License-Identifier: Apache-2.0
// A program of a user: brings an actor kind of its own, and sends one of Troupe's messages.
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "messages/app_graph.capnp.h"

#include <caf/event_based_actor.hpp>

#include <cstdio>

int main() {
  auto kinds = troupe::ActorKinds{};
  kinds.add({.name = "consumer.echo",
             .program = "consumer",
             .args = capnp::Schema::from<troupe::msg::App>()});
  const auto message = troupe::Msg<troupe::msg::App>::build([](auto app) { app.setName("mine"); });
  auto view = message.read();
  std::printf("kind %s, job %s\n", kinds.names().front().c_str(), view->getName().cStr());
  return kinds.find("consumer.echo") && view->getName() == "mine" ? 0 : 1;
}
