// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/supervisor.hpp"

#include "actors/base/log.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/host_messages.hpp"
#include "actors/core/supervise/path_router.hpp"
#include "messages/supervise.capnp.h"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

namespace troupe {
namespace {

using supervise::Time;

Time now() { return std::chrono::steady_clock::now(); }

struct Started {
  using actor_message = void;
  std::size_t child = 0;
  std::uint64_t life = 0;
  std::shared_ptr<Result<caf::actor>> actor;
};
struct TimeToLook {
  using actor_message = void;
};

struct Child {
  std::uint64_t number = 0;  ///< which life, so that news of an earlier one are known as such
  std::unique_ptr<ChildLife> life;
  caf::actor actor;
  Error told;          ///< why it is being stopped; with an empty text: nobody said
  bool asked = false;  ///< to stop, by somebody who says nothing of why
  Slice kept;          ///< for its next life
  std::uint64_t kept_by = 0;
};

struct State {
  Node* node = nullptr;
  SupervisorSpec spec;
  std::optional<supervise::State> decisions;
  std::vector<Child> children;
  std::optional<Time> looks_at;
  std::deque<supervise::Effect> to_do;
  bool busy = false;
};
using Self = caf::stateful_actor<State>;

void tell(Self* self, const supervise::News& news);

supervise::Rules rules_of(const SupervisorSpec& spec) {
  supervise::Rules rules{spec.path, spec.strategy, spec.budget, spec.seed, {}};
  for (const auto& child : spec.children) {
    rules.children.push_back({child.path, child.restart, child.shutdown, child.back_off});
  }
  return rules;
}

void emit(Self* self, const char* name, std::size_t child, const char* key = "",
          std::string text = {}) {
  if (!self->state.spec.emit) return;
  Event event{name, {{"path", self->state.spec.children[child].path}}};
  if (*key != '\0') event.fields.emplace_back(key, std::move(text));
  self->state.spec.emit(std::move(event));
}

/// Tells those who look at this node of a life that has come up.
void announce(Self* self, std::size_t index) {
  auto& state = self->state;
  const auto& path = state.spec.children[index].path;
  const auto& child = state.children[index];
  state.node->paths().up(path, child.actor);
  if (!state.spec.observer) return;
  const int pid = child.life->pid();
  state.spec.observer->up(
      {path, state.node->ref(child.actor), state.node->ref(self), pid != 0 ? pid : ::getpid()});
}

void announce_end(Self* self, std::size_t index, const Error& why, bool normal) {
  auto& state = self->state;
  const auto& path = state.spec.children[index].path;
  const bool comes_back = state.decisions->comes_back(index, normal);
  state.node->paths().down(path, why, comes_back);
  if (state.spec.observer) state.spec.observer->down(path, why, comes_back);
}

void announce_wait(Self* self, std::size_t index, const std::string& what) {
  emit(self, "actor_waits", index, "what", what);
  const auto& spec = self->state.spec;
  if (spec.observer) spec.observer->waiting(spec.children[index].path, what);
}

void carry_out(Self* self, const supervise::Start& effect) {
  auto& child = self->state.children[effect.child];
  const auto index = effect.child;
  const auto number = effect.life;
  child.number = number;
  child.told = {};
  child.asked = false;
  const caf::actor me = self;
  child.life = self->state.spec.children[index].starter->start(
      [=](Result<caf::actor> actor) {
        caf::anon_send(
            me, Started{index, number, std::make_shared<Result<caf::actor>>(std::move(actor))});
      },
      {me, number, child.kept});
}

void carry_out(Self* self, const supervise::Ask& effect) {
  auto& child = self->state.children[effect.child];
  if (!effect.why.what.empty()) child.told = effect.why;
  // One that has not come up yet is told when it does.
  if (child.actor) self->send_exit(child.actor, caf::exit_reason::user_shutdown);
  child.life->ask_to_stop();
}

void tell_leader(Self* self, std::size_t index, const Error& why, bool normal) {
  const auto& spec = self->state.spec.children[index];
  if (!spec.leader) return;
  const bool comes_back = self->state.decisions->comes_back(index, normal);
  self->send(spec.leader, MemberDown{spec.index, why, comes_back});
}

/// Nothing is left of the child's life; `why` is what its supervisor and its user are told.
void bury(Self* self, std::size_t index, const Error& why, bool normal,
          std::string lost_with = {}) {
  auto& child = self->state.children[index];
  child.actor = nullptr;
  child.life.reset();
  announce_end(self, index, why, normal);
  if (!self->state.decisions->stopping()) emit(self, "actor_down", index, "why", why.what);
  tell(self, supervise::Ended{index, child.number, why, normal, std::move(lost_with)});
}

void carry_out(Self* self, const supervise::Kill& effect) {
  auto& child = self->state.children[effect.child];
  if (!effect.why.what.empty()) child.told = effect.why;
  if (!child.life->end()) return;
  if (child.actor) {
    self->demonitor(child.actor);
    tell_leader(self, effect.child, child.told, false);
  }
  bury(self, effect.child, child.told, false);
}

void carry_out(Self* self, const supervise::Wait& effect) {
  announce_wait(self, effect.child,
                "starts again in " + std::to_string(effect.delay.count()) + " ms");
}

void carry_out(Self* self, const supervise::Finish& effect) {
  self->quit(effect.error ? to_caf(*effect.error) : caf::exit_reason::user_shutdown);
}

void look_in_time(Self* self) {
  auto& state = self->state;
  const auto wake = state.decisions->wake();
  if (!wake || (state.looks_at && *state.looks_at <= *wake)) return;
  state.looks_at = wake;
  const auto pause = std::max(*wake - now(), Time::duration::zero());
  self->delayed_send(self, pause + std::chrono::milliseconds(1), TimeToLook{});
}

/// Effects are carried out in the order in which they were decided, also those of what an effect
/// brings about at once.
void tell(Self* self, const supervise::News& news) {
  auto& state = self->state;
  for (auto& effect : state.decisions->step(news, now())) state.to_do.push_back(std::move(effect));
  if (std::exchange(state.busy, true)) return;
  while (!state.to_do.empty()) {
    const auto effect = std::move(state.to_do.front());
    state.to_do.pop_front();
    std::visit([&](const auto& one) { carry_out(self, one); }, effect);
  }
  state.busy = false;
  look_in_time(self);
}

void on_started(Self* self, const Started& news) {
  auto& child = self->state.children[news.child];
  if (child.number != news.life || !child.life) return;
  if (!*news.actor) {
    const auto& why = news.actor->error();
    tell_leader(self, news.child, why, false);
    return bury(self, news.child, why, false, child.life->lost_with());
  }
  child.actor = **news.actor;
  self->monitor(child.actor);
  tell(self, supervise::Came{news.child, news.life});
  if (self->state.decisions->stopping()) return;
  const auto& spec = self->state.spec.children[news.child];
  emit(self, "actor_up", news.child);
  announce(self, news.child);
  if (spec.leader) self->send(spec.leader, MemberUp{spec.index, child.actor});
}

void on_down(Self* self, const caf::down_msg& down) {
  auto& children = self->state.children;
  const auto it = std::find_if(children.begin(), children.end(), [&](const Child& child) {
    return child.actor && child.actor == down.source;
  });
  if (it == children.end()) return;
  const auto index = static_cast<std::size_t>(it - children.begin());
  const bool asked = it->asked || !it->told.what.empty() || self->state.decisions->stopping();
  bool normal = is_normal_end(down.reason);
  std::string lost_with;
  if (normal && !asked && down.reason == caf::exit_reason::user_shutdown) {
    // Told to end, but not by its supervisor: it may be that its node goes.
    lost_with = it->life->lost_with();
    normal = lost_with.empty();
  }
  Error why = it->told.what.empty() ? from_caf(down.reason) : it->told;
  // First of all, because others wait for it; how the process ended is known a little later.
  tell_leader(self, index, why, normal);
  if (!normal && !asked) {
    if (const auto better = it->life->post_mortem(); !better.empty()) why.what = better;
    lost_with = it->life->lost_with();
  }
  bury(self, index, why, normal, std::move(lost_with));
}

/// Somebody wants the child to end.
void end_child(Self* self, const EndChild& wish) {
  auto& state = self->state;
  for (std::size_t i = 0; i < state.children.size(); ++i) {
    auto& child = state.children[i];
    if (state.spec.children[i].path != wish.path || !child.actor) continue;
    const LogScope scope(wish.path, wish.trace);
    log_info("{}: {}", wish.stop ? "asked to stop" : "killed", wish.why);
    if (wish.stop) {
      child.asked = true;
      return self->send_exit(child.actor, caf::exit_reason::user_shutdown);
    }
    child.told = {ErrorCode::aborted, wish.why};
    if (!child.life->end()) return;  // its DOWN comes
    self->demonitor(child.actor);
    tell_leader(self, i, child.told, false);
    return bury(self, i, child.told, false);
  }
}

/// The last word of the latest life counts, also where it comes when the next one has begun.
void keep(Self* self, const Msg<msg::Snapshot>& snapshot) {
  auto& state = self->state;
  auto view = snapshot.read();
  const std::string path = view->getPath();
  for (std::size_t i = 0; i < state.children.size(); ++i) {
    auto& child = state.children[i];
    if (state.spec.children[i].path != path) continue;
    if (view->getLife() < child.kept_by || view->getLife() > child.number) return;
    if (snapshot.blob().size() > max_snapshot) {
      return log_warn("{} sends a snapshot of {} bytes, which is not kept", path,
                      snapshot.blob().size());
    }
    child.kept = copy_of(snapshot.blob());
    child.kept_by = view->getLife();
  }
}

caf::behavior run(Self* self, Node* node, std::shared_ptr<SupervisorSpec> spec) {
  keep_first_cause(*self);
  self->state.node = node;
  self->state.spec = std::move(*spec);
  self->state.children.resize(self->state.spec.children.size());
  self->state.decisions.emplace(rules_of(self->state.spec));
  self->set_exit_handler([=](caf::exit_msg&) { tell(self, supervise::Stop{}); });
  self->set_down_handler([=](caf::down_msg& down) { on_down(self, down); });
  tell(self, supervise::Begin{});
  return {[=](const Started& news) { on_started(self, news); },
          [=](const EndChild& wish) { end_child(self, wish); },
          [=](const Msg<msg::Snapshot>& snapshot) { keep(self, snapshot); },
          [=](const TimeToLook&) {
            self->state.looks_at.reset();
            tell(self, supervise::Tick{});
          }};
}

}  // namespace

caf::actor spawn_supervisor(Node& node, SupervisorSpec spec) {
  // Detached: it may wait a moment for a process to be gone.
  return node.system().spawn<caf::detached>(run, &node,
                                            std::make_shared<SupervisorSpec>(std::move(spec)));
}

}  // namespace troupe
