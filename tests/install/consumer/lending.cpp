// SPDX-License-Identifier: Apache-2.0
// Bulk data between two nodes; docs/actors.md shows parts of it.
#include "actors/core/ask.hpp"
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "actors/core/node.hpp"
#include "actors/net/bulk/bulk.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/bulk.capnp.h"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using Offer = troupe::Msg<troupe::msg::BulkRef>;

// An actor that lends a million numbers to whoever asks: the message has a reference only.
caf::behavior lender(caf::event_based_actor* self, troupe::Node* node) {
  const auto ref =
      node->bulk().store().expose(troupe::Slice::own(std::vector<float>(1'000'000, 0.5f)));
  if (!ref) return {};
  self->attach_functor([=] { node->bulk().store().withdraw(*ref); });
  return {[=](const Offer&) {
    return Offer::build([&](auto answer) { troupe::write_bulk_ref(answer, *ref); });
  }};
}

// Asks for the reference, then copies what it refers to. Blocks: call it on a thread of its own or
// in a detached actor.
troupe::Result<std::vector<float>> borrow(troupe::Node& node, const caf::actor& lender) {
  troupe::BulkRef ref;
  caf::scoped_actor self(node.system());
  troupe::ask(self, lender, troupe::Millis(10'000), Offer::build([](auto) {}))
      .receive([&](const Offer& offer) { ref = troupe::read_bulk_ref(*offer.read()); },
               [](const caf::error&) {});
  std::vector<float> numbers(ref.length / sizeof(float));
  const troupe::BulkRange all[] = {{0, numbers.size() * sizeof(float)}};
  const auto done = node.bulk().reader().pull(ref, all, std::as_writable_bytes(std::span(numbers)));
  if (!done) return troupe::Failure(done.error());
  return numbers;
}

/// What went wrong; empty: nothing.
std::string lend_numbers() {
  troupe::ActorKinds kinds;
  kinds.messages().add<troupe::msg::BulkRef>();
  troupe::LoopbackHub hub;
  std::vector<std::unique_ptr<troupe::Node>> nodes;
  for (const char* name : {"lender", "borrower"}) {
    troupe::NodeOptions options;
    options.name = name;
    options.hub = &hub;
    auto node = troupe::Node::start(std::move(options), kinds);
    if (!node) return "a node cannot start";
    nodes.push_back(std::move(*node));
  }
  auto there = nodes[0]->system().spawn(lender, nodes[0].get());
  const auto numbers = borrow(*nodes[1], nodes[1]->resolve(nodes[0]->ref(there)));
  caf::scoped_actor self(nodes[0]->system());
  self->send_exit(there, caf::exit_reason::user_shutdown);
  self->wait_for(there);
  there = nullptr;
  if (!numbers) return "the numbers cannot be read";
  const bool right =
      numbers->size() == 1'000'000 && numbers->front() == 0.5f && numbers->back() == 0.5f;
  return right ? "" : "these are not the numbers";
}

}  // namespace

int main() {
  const auto why = lend_numbers();
  if (!why.empty()) std::fprintf(stderr, "%s\n", why.c_str());
  return why.empty() ? 0 : 1;
}
