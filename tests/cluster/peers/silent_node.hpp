// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/net/crypto.hpp"
#include "messages/common.capnp.h"

#include <caf/event_based_actor.hpp>
#include <caf/response_promise.hpp>
#include <caf/send.hpp>

#include <memory>
#include <string>

namespace troupe::test {

using Note = Msg<msg::Address>;  // any registered struct will do; this one has a number

inline Note note(std::uint16_t number, Slice blob = {}) {
  return Note::build([&](msg::Address::Builder b) { b.setPort(number); }, std::move(blob));
}
constexpr std::uint16_t never_answered = 2;

/// A node with one actor that answers every note with itself, but for number 2, which it never
/// answers.
class SilentNode {
 public:
  SilentNode(std::string name, ClusterSecret secret) {
    register_node_messages(kinds_);
    kinds_.messages().add<msg::Address>();
    NodeOptions options;
    options.name = std::move(name);
    options.secret = std::move(secret);
    node_ = Node::start(std::move(options), kinds_).value();
    actor_ = node_->system().spawn([](caf::event_based_actor* self) -> caf::behavior {
      return {[self](const Note& n) -> caf::result<Note> {
        if (n.read()->getPort() == never_answered) return self->make_response_promise<Note>();
        return n;
      }};
    });
  }
  ~SilentNode() {
    caf::anon_send_exit(actor_, caf::exit_reason::kill);
    actor_ = nullptr;
  }
  SilentNode(const SilentNode&) = delete;

  [[nodiscard]] Node& node() { return *node_; }
  [[nodiscard]] ActorRef ref() { return node_->ref(actor_); }

 private:
  ActorKinds kinds_;
  std::unique_ptr<Node> node_;
  caf::actor actor_;
};

}  // namespace troupe::test
