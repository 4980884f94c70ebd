// SPDX-License-Identifier: Apache-2.0
#include "actors/core/node_actor.hpp"

#include "actors/base/log.hpp"
#include "actors/core/kinds.hpp"
#include "actors/core/message.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/host_messages.hpp"
#include "messages/control.capnp.h"

#include <caf/event_based_actor.hpp>
#include <caf/result.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <vector>

namespace troupe {
namespace {

constexpr auto host_time = std::chrono::seconds(10);

struct State {
  std::vector<caf::actor> spawned;
  std::map<std::string, caf::actor> services;
  bool stopping = false;
};
using Self = caf::stateful_actor<State>;

Result<caf::actor> spawn(Node& node, int state_fd, const Msg<msg::Spawn>& message) {
  auto view = message.read();
  const msg::Spawn::Reader request = *view;
  const std::string name = request.getKind();
  const auto* kind = node.kinds().find(name);
  if (kind == nullptr || !kind->spawn) {
    return fail(ErrorCode::not_found,
                "node " + node.self().id.name + " does not host kind '" + name + "'");
  }
  return kind->spawn({.node = node,
                      .path = request.getPath(),
                      .args = request.getArgs(),
                      .seed = request.getSeed(),
                      .index = request.getIndex(),
                      .count = request.getCount(),
                      .state_fd = state_fd,
                      .kept = read_kept(node, message)});
}

caf::actor provider(const Self* self, const std::string& service) {
  const auto it = self->state.services.find(service);
  return it == self->state.services.end() ? caf::actor() : it->second;
}

caf::result<Msg<msg::FoundService>> find_service(const Self* self, Node& node,
                                                 const std::string& name) {
  const auto found = provider(self, name);
  if (!found) {
    return to_caf(
        {ErrorCode::not_found, "node " + node.self().id.name + " does not provide '" + name + "'"});
  }
  const auto number = node.ref(found).actor;
  return Msg<msg::FoundService>::build([&](msg::FoundService::Builder b) { b.setActor(number); });
}

void stop(Self* self) {
  self->state.stopping = true;
  if (self->state.spawned.empty()) return self->quit(caf::exit_reason::user_shutdown);
  for (auto it = self->state.spawned.rbegin(); it != self->state.spawned.rend(); ++it) {
    self->send_exit(*it, caf::exit_reason::user_shutdown);
  }
}

void forget(Self* self, const caf::down_msg& down) {
  log_debug("actor {} has ended: {}", to_string(down.source), from_caf(down.reason).what);
  std::erase_if(self->state.spawned, [&](const auto& actor) { return actor == down.source; });
  if (self->state.stopping && self->state.spawned.empty()) {
    self->quit(caf::exit_reason::user_shutdown);
  }
}

caf::result<Msg<msg::Spawned>> on_spawn(Self* self, Node& node, int state_fd,
                                        const Msg<msg::Spawn>& request) {
  // Nobody would know of the actor.
  if (request.is_late()) return to_caf(Error{ErrorCode::timeout, "the request came too late"});
  auto actor = spawn(node, state_fd, request);
  if (!actor) return to_caf(actor.error());
  self->monitor(*actor);
  self->state.spawned.push_back(*actor);
  const auto number = node.ref(*actor).actor;
  return Msg<msg::Spawned>::build([&](msg::Spawned::Builder b) { b.setActor(number); });
}

caf::result<Msg<msg::HostInfo>> pass_on(Self* self, Node& node, const Msg<msg::HostQuery>& query) {
  auto promise = self->make_response_promise<Msg<msg::HostInfo>>();
  const auto host = provider(self, host_service);
  if (!host) {
    promise.deliver(to_caf(Error{ErrorCode::not_found,
                                 "node " + node.self().id.name + " launches nothing for others"}));
    return promise;
  }
  self->request(host, host_time, query)
      .then([=](const Msg<msg::HostInfo>& info) mutable { promise.deliver(info); },
            [=](caf::error& why) mutable { promise.deliver(why); });
  return promise;
}

caf::behavior run(Self* self, Node* node, int state_fd) {
  keep_first_cause(*self);
  self->set_exit_handler([=](caf::exit_msg&) { stop(self); });
  self->set_down_handler([=](caf::down_msg& down) { forget(self, down); });
  return {[=](const Msg<msg::Spawn>& request) { return on_spawn(self, *node, state_fd, request); },
          [=](const Msg<msg::HostQuery>& query) { return pass_on(self, *node, query); },
          [=](const OfferService& offer) { self->state.services[offer.name] = offer.actor; },
          [=](const Msg<msg::FindService>& request) {
            return find_service(self, *node, request.read()->getName());
          }};
}

}  // namespace

void register_node_messages(ActorKinds& kinds) {
  kinds.messages().add<msg::Spawn>();
  kinds.messages().add<msg::Spawned>();
  register_supervise_messages(kinds);
  kinds.messages().add<msg::FindService>();
  kinds.messages().add<msg::FoundService>();
  register_membership_messages(kinds);
}

caf::actor spawn_node_actor(Node& node, int state_fd) {
  return node.system().spawn(run, &node, state_fd);
}

}  // namespace troupe
