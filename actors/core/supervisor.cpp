// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervisor.hpp"

#include "actors/base/log.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <unistd.h>

#include <algorithm>

namespace troupe {
namespace {

constexpr auto stop_time = std::chrono::seconds(3);

struct Started {
  using actor_message = void;
  std::size_t child = 0;
  std::uint64_t life = 0;
  std::shared_ptr<Result<caf::actor>> actor;
};
struct StopTimeIsOver {
  using actor_message = void;
};

struct Child {
  std::uint64_t number = 0;  ///< which life, so that news of an earlier one are known as such
  std::unique_ptr<ChildLife> life;
  caf::actor actor;
};

struct State {
  SupervisorSpec spec;
  std::vector<Child> children;
  bool stopping = false;
};
using Self = caf::stateful_actor<State>;

void emit(Self* self, const char* name, std::size_t child, Event::Value why = {}) {
  if (!self->state.spec.emit) return;
  Event event{name, {{"path", self->state.spec.children[child].path}}};
  if (std::holds_alternative<std::string>(why)) event.fields.emplace_back("why", std::move(why));
  self->state.spec.emit(std::move(event));
}

void observe_up(Self* self, Node& node, std::size_t index) {
  const auto& spec = self->state.spec;
  if (!spec.observer) return;
  const auto& child = self->state.children[index];
  const int pid = child.life->pid();
  spec.observer->up({spec.children[index].path, node.ref(child.actor), node.ref(self),
                     pid != 0 ? pid : ::getpid()});
}

void observe_down(Self* self, std::size_t index, const Error& why, bool comes_back) {
  const auto& spec = self->state.spec;
  if (spec.observer) spec.observer->down(spec.children[index].path, why, comes_back);
}

void start(Self* self, std::size_t index) {
  auto& child = self->state.children[index];
  const auto number = ++child.number;
  const caf::actor me = self;
  child.life = self->state.spec.children[index].starter->start([=](Result<caf::actor> actor) {
    caf::anon_send(me,
                   Started{index, number, std::make_shared<Result<caf::actor>>(std::move(actor))});
  });
}

bool none_left(const State& state) {
  return std::none_of(state.children.begin(), state.children.end(),
                      [](const Child& child) { return child.life != nullptr; });
}

void end_if_none_left(Self* self) {
  if (none_left(self->state)) self->quit(caf::exit_reason::user_shutdown);
}

void tell_leader(Self* self, std::size_t index, const Error& why, bool comes_back) {
  const auto& spec = self->state.spec.children[index];
  if (spec.leader) self->send(spec.leader, MemberDown{spec.index, why, comes_back});
}

void give_up(Self* self, std::size_t index, const Error& why) {
  const auto& spec = self->state.spec;
  const Error error{ErrorCode::resource_exhausted,
                    spec.path + " gave up: " + spec.children[index].path +
                        " ended too often; the last time: " + why.what};
  for (std::size_t i = self->state.children.size(); i-- > 0;) {
    auto& child = self->state.children[i];
    if (child.actor) self->demonitor(child.actor);
    child.life.reset();
    observe_down(self, i, error, false);
    tell_leader(self, i, error, true);  // by the supervisor above, or the job ends anyway
  }
  self->quit(to_caf(error));
}

bool should_come_back(Self* self, std::size_t index, bool normal) {
  const auto restart = self->state.spec.children[index].restart;
  return !self->state.stopping && restart != Restart::temporary &&
         !(restart == Restart::transient && normal);
}

/// The child of this life is no more; `why` is what its supervisor and its user are told.
void on_end(Self* self, std::size_t index, const Error& why, bool normal) {
  auto& child = self->state.children[index];
  child.actor = nullptr;
  child.life.reset();
  observe_down(self, index, why, should_come_back(self, index, normal));
  if (self->state.stopping) return end_if_none_left(self);
  emit(self, "actor_down", index, why.what);
  if (!should_come_back(self, index, normal)) return end_if_none_left(self);
  if (!self->state.spec.budget.spend(std::chrono::steady_clock::now())) {
    return give_up(self, index, why);
  }
  start(self, index);
}

void on_started(Self* self, Node& node, const Started& news) {
  auto& child = self->state.children[news.child];
  if (child.number != news.life || !child.life) return;
  if (!*news.actor) {
    tell_leader(self, news.child, news.actor->error(), should_come_back(self, news.child, false));
    return on_end(self, news.child, news.actor->error(), false);
  }
  child.actor = **news.actor;
  self->monitor(child.actor);
  if (self->state.stopping) return self->send_exit(child.actor, caf::exit_reason::user_shutdown);
  const auto& spec = self->state.spec.children[news.child];
  emit(self, "actor_up", news.child);
  observe_up(self, node, news.child);
  if (spec.leader) self->send(spec.leader, MemberUp{spec.index, child.actor});
}

void on_down(Self* self, const caf::down_msg& down) {
  auto& children = self->state.children;
  const auto it = std::find_if(children.begin(), children.end(), [&](const Child& child) {
    return child.actor && child.actor == down.source;
  });
  if (it == children.end()) return;
  const auto index = static_cast<std::size_t>(it - children.begin());
  const bool normal = is_normal_end(down.reason);
  Error why = from_caf(down.reason);
  // First of all, because others wait for it; how the process ended is known a little later.
  tell_leader(self, index, why, should_come_back(self, index, normal));
  if (!normal) {
    if (const auto better = it->life->post_mortem(); !better.empty()) why.what = better;
  }
  on_end(self, index, why, normal);
}

/// Somebody wants the child to end. Destroying its life ends it, whatever it is doing.
void end_child(Self* self, const EndChild& wish) {
  auto& state = self->state;
  for (std::size_t i = 0; i < state.children.size(); ++i) {
    auto& child = state.children[i];
    if (state.spec.children[i].path != wish.path || !child.actor || state.stopping) continue;
    const LogScope scope(wish.path, wish.trace);
    log_info("{}: {}", wish.stop ? "asked to stop" : "killed", wish.why);
    if (wish.stop) return self->send_exit(child.actor, caf::exit_reason::user_shutdown);
    const Error why{ErrorCode::aborted, wish.why};
    self->demonitor(child.actor);
    tell_leader(self, i, why, should_come_back(self, i, false));
    return on_end(self, i, why, false);
  }
}

void stop(Self* self) {
  if (std::exchange(self->state.stopping, true)) return;
  for (auto it = self->state.children.rbegin(); it != self->state.children.rend(); ++it) {
    if (!it->life) continue;
    // One that has not come up yet is told when it does.
    if (it->actor) self->send_exit(it->actor, caf::exit_reason::user_shutdown);
    it->life->ask_to_stop();
  }
  self->delayed_send(self, stop_time, StopTimeIsOver{});
  end_if_none_left(self);
}

caf::behavior run(Self* self, Node* node, std::shared_ptr<SupervisorSpec> spec) {
  keep_first_cause(*self);
  self->state.spec = std::move(*spec);
  self->state.children.resize(self->state.spec.children.size());
  self->set_exit_handler([=](caf::exit_msg&) { stop(self); });
  self->set_down_handler([=](caf::down_msg& down) { on_down(self, down); });
  for (std::size_t i = 0; i < self->state.children.size(); ++i) start(self, i);
  return {[=](const Started& news) { on_started(self, *node, news); },
          [=](const EndChild& wish) { end_child(self, wish); },
          [=](const StopTimeIsOver&) {
            for (auto& child : self->state.children) child.life.reset();
            self->quit(caf::exit_reason::user_shutdown);
          }};
}

}  // namespace

caf::actor spawn_supervisor(Node& node, SupervisorSpec spec) {
  // Detached: it may wait a moment for a process to be gone.
  return node.system().spawn<caf::detached>(run, &node,
                                            std::make_shared<SupervisorSpec>(std::move(spec)));
}

}  // namespace troupe
