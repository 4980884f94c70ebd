// SPDX-License-Identifier: Apache-2.0
#include "actors/control/application.hpp"

#include "actors/base/fd.hpp"
#include "actors/base/log.hpp"
#include "actors/control/graph_rules.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "messages/reflect.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

namespace troupe {
namespace {

using ActorReader = msg::Actor::Reader;
using GraphReader = msg::AppGraph::Reader;

const std::string jobs = "/jobs/";

/// What a group's leader tells carries the group's path, whatever the engine says itself.
EventSink with_path(const EventSink& sink, const std::string& path) {
  if (!sink) return sink;
  return [sink, path](Event event) {
    event.fields.insert(event.fields.begin(), {"path", path});
    sink(std::move(event));
  };
}

std::string hash_text(const std::string& text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> shift & 15];
  return digits;
}

/// All that a running application owns.
struct Parts {
  std::vector<caf::actor> leaders;
  std::vector<std::string> leader_paths;
  std::string job;  ///< "/jobs/digits"
  std::shared_ptr<ActorObserver> observer;
  std::vector<Fd> step_states;  ///< what outlives the members of a group
  SupervisorSpec root;
  std::function<void(Result<void>)> ended;
};

/// Turns a graph into parts. Nothing but leaders is alive afterwards.
class Builder {
 public:
  Builder(Node& node, GraphReader graph, ApplicationOptions& options)
      : node_(node),
        graph_(graph),
        options_(options),
        job_(jobs + std::string(graph.getApp().getName())) {}

  Result<Parts> build() {
    if (options_.observer) expect_all();
    for (const auto actor : graph_.getActor()) {
      if (auto made = add_group(actor); !made) {
        for (const auto& leader : parts_.leaders) {
          caf::anon_send_exit(leader, caf::exit_reason::user_shutdown);
        }
        return Failure(made.error());
      }
    }
    parts_.root = supervisor(".");
    parts_.ended = std::move(options_.ended);
    parts_.job = job_;
    parts_.observer = options_.observer;
    return std::move(parts_);
  }

 private:
  Result<void> add_group(ActorReader actor);
  Result<void> add_member(ActorReader actor, const ActorKind& kind, std::uint32_t index,
                          const caf::actor& leader, int state_fd);
  Result<HostedActor> hosted(ActorReader actor, const ActorKind& kind, std::uint32_t index,
                             Msg<msg::Spawn> spawn, int state_fd);
  [[nodiscard]] SupervisorSpec supervisor(const std::string& path);
  [[nodiscard]] std::string full_path(const std::string& path) const {
    return path == "." ? job_ : job_ + "/" + path;
  }
  void expect_all() const;

  Node& node_;
  GraphReader graph_;
  ApplicationOptions& options_;
  std::string job_;
  Parts parts_;
  std::map<std::string, std::vector<ChildSpec>> children_;  ///< by supervisor
};

/// Supervisors first, so that nobody's seat comes before that of who looks after him.
void Builder::expect_all() const {
  auto& observer = *options_.observer;
  observer.expect({job_, "supervisor", {}, {}});
  for (const auto other : graph_.getSupervisor()) {
    const std::string path = other.getPath();
    if (path == ".") continue;
    observer.expect({full_path(path), "supervisor", full_path(other.getSupervisor()), "transient"});
  }
  for (const auto actor : graph_.getActor()) {
    const auto path = full_path(actor.getPath());
    const std::string kind = actor.getKind();
    const auto* known = node_.kinds().find(kind);
    if (known != nullptr && known->lead) observer.expect({path, kind + " leader", job_, {}});
    const auto restart = words_of(capnp::Schema::from<msg::Restart>());
    for (std::uint32_t i = 0; i < actor.getCount(); ++i) {
      observer.expect({path + "/" + std::to_string(i), kind, full_path(actor.getSupervisor()),
                       restart.at(static_cast<std::size_t>(actor.getRestart()))});
    }
  }
}

Result<void> Builder::add_group(ActorReader actor) {
  const std::string path = job_ + "/" + std::string(actor.getPath());
  const auto* kind = node_.kinds().find(actor.getKind());
  if (kind == nullptr) {
    return fail(ErrorCode::not_found, path + ": unknown kind " + std::string(actor.getKind()));
  }
  auto state = make_memfd("troupe" + path);
  if (!state) return fail_at(path, state.error());
  const int state_fd = state->get();
  parts_.step_states.push_back(std::move(*state));
  caf::actor leader;
  if (kind->lead) {
    auto made = kind->lead(
        {.node = node_,
         .path = path,
         .args = actor.getArgs(),
         .seed = graph_.getApp().getSeed(),
         .count = actor.getCount(),
         .term = options_.term,
         .faults = options_.faults,
         .emit = with_path(options_.emit, path),
         .checkpoints = options_.run_dir / std::string(graph_.getApp().getCheckpointDir()) /
                        std::string(actor.getPath()),
         .resume = options_.resume,
         .state_fd = state_fd});
    if (!made) return fail_at(path, made.error());
    leader = *made;
    parts_.leaders.push_back(leader);
    parts_.leader_paths.push_back(path);
  }
  for (std::uint32_t i = 0; i < actor.getCount(); ++i) {
    if (auto added = add_member(actor, *kind, i, leader, state_fd); !added) return added;
  }
  return {};
}

Result<void> Builder::add_member(ActorReader actor, const ActorKind& kind, std::uint32_t index,
                                 const caf::actor& leader, int state_fd) {
  ChildSpec child;
  child.path = job_ + "/" + std::string(actor.getPath()) + "/" + std::to_string(index);
  child.restart = static_cast<Restart>(actor.getRestart());
  child.shutdown = parse_shutdown(actor.getShutdown().cStr()).value();  // the graph is checked
  child.back_off = back_off_of(actor.getBackoff());
  child.index = index;
  child.leader = leader;
  auto spawn = Msg<msg::Spawn>::build([&](msg::Spawn::Builder b) {
    b.setKind(actor.getKind());
    b.setPath(child.path);
    b.setSeed(graph_.getApp().getSeed());
    b.setIndex(index);
    b.setCount(actor.getCount());
    b.getArgs().set(actor.getArgs());
  });
  if (options_.host) {
    auto how = hosted(actor, kind, index, std::move(spawn), state_fd);
    if (!how) return fail_at(child.path, how.error());
    child.starter = options_.host->starter(std::move(*how));
  } else if (kind.spawn) {
    child.starter =
        make_local_starter([&node = node_, spawn, make = kind.spawn, state_fd](const Kept& kept) {
          auto request = spawn.read();
          return make({.node = node,
                       .path = request->getPath(),
                       .args = request->getArgs(),
                       .seed = request->getSeed(),
                       .index = request->getIndex(),
                       .count = request->getCount(),
                       .state_fd = state_fd,
                       .kept = kept});
        });
  } else {
    return fail(ErrorCode::not_found, child.path + ": this program does not host kind '" +
                                          kind.name + "'; " + kind.program + " does");
  }
  children_[actor.getSupervisor()].push_back(std::move(child));
  return {};
}

Result<HostedActor> Builder::hosted(ActorReader actor, const ActorKind& kind, std::uint32_t index,
                                    Msg<msg::Spawn> spawn, int state_fd) {
  HostedActor how;
  how.node_name = member_node_name(graph_.getApp().getName(), actor.getPath(), index);
  const std::string asked = actor.getBinary();
  auto binary = options_.find_program(asked.empty() ? kind.program : asked);
  if (!binary) return Failure(binary.error());
  how.binary = std::move(*binary);
  how.spawn = std::move(spawn);
  const bool here = options_.host->on_this_machine();
  const auto logs =
      here ? options_.run_dir / "logs" : std::filesystem::path(job_.substr(jobs.size()));
  how.log = logs / std::string(actor.getPath()) / (std::to_string(index) + ".log");
  how.state_fd = state_fd;
  how.group = job_ + "/" + std::string(actor.getPath());
  how.needs = needs_of(actor.getNeeds());
  how.term = options_.term;
  std::error_code error;
  if (here) std::filesystem::create_directories(how.log.parent_path(), error);
  if (error) {
    return fail(ErrorCode::unavailable, how.log.parent_path().string() + ": " + error.message());
  }
  // One thread each: results must not depend on how many cores there are.
  // UCX reads its signal setting when it is loaded; engines need SIGSEGV and SIGBUS for themselves.
  how.environment = {
      {"OMP_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"}, {"UCX_ERROR_SIGNALS", ""}};
  if (kind.environment) {
    for (auto& one : kind.environment(actor.getArgs())) how.environment.push_back(std::move(one));
  }
  return how;
}

SupervisorSpec Builder::supervisor(const std::string& path) {
  SupervisorSpec spec;
  spec.path = full_path(path);
  spec.emit = options_.emit;
  spec.seed = graph_.getApp().getSeed();
  spec.observer = options_.observer;
  spec.children = children_[path];
  for (const auto other : graph_.getSupervisor()) {
    const std::string name = other.getPath();
    if (name == path) {
      spec.strategy = static_cast<Strategy>(other.getStrategy());
      spec.budget = RestartBudget(other.getIntensity().getRestarts(),
                                  std::chrono::seconds(other.getIntensity().getPerS()));
    } else if (name != "." && std::string(other.getSupervisor()) == path) {
      ChildSpec child;
      child.path = job_ + "/" + name;
      child.restart = Restart::transient;     // ended normally: nobody below it should live
      child.shutdown = Shutdown::infinity();  // its children have their limits
      child.starter = make_local_starter([&node = node_, inner = supervisor(name)] {
        return Result<caf::actor>(spawn_supervisor(node, inner));
      });
      spec.children.push_back(std::move(child));
    }
  }
  return spec;
}

struct State {
  Parts parts;
  caf::actor root;
  std::size_t leading = 0;  ///< leaders that are not done yet
  std::optional<Error> error;
  bool stopping = false;
};
using Self = caf::stateful_actor<State>;

void stop(Self* self) {
  if (std::exchange(self->state.stopping, true)) return;
  for (const auto& leader : self->state.parts.leaders) {
    self->send_exit(leader, caf::exit_reason::user_shutdown);
  }
  if (self->state.root) self->send_exit(self->state.root, caf::exit_reason::user_shutdown);
}

void observe_up(Self* self, Node& node) {
  const auto& parts = self->state.parts;
  if (!parts.observer) return;
  const auto me = node.ref(self);
  parts.observer->up({parts.job, node.ref(self->state.root), me, ::getpid()});
  for (std::size_t i = 0; i < parts.leaders.size(); ++i) {
    parts.observer->up({parts.leader_paths[i], node.ref(parts.leaders[i]), me, ::getpid()});
  }
}

void observe_down(Self* self, const caf::down_msg& down) {
  const auto& parts = self->state.parts;
  if (!parts.observer) return;
  const auto it = std::find(parts.leaders.begin(), parts.leaders.end(), down.source);
  const auto& path = it == parts.leaders.end()
                         ? parts.job
                         : parts.leader_paths[static_cast<std::size_t>(it - parts.leaders.begin())];
  parts.observer->down(path, from_caf(down.reason), false);
}

/// Nobody starts the job or its leaders again, so both ways of ending one end the job.
void end_job(Self* self, const EndChild& wish) {
  const LogScope scope(wish.path, wish.trace);
  log_info("the job ends: {}", wish.why);
  if (!self->state.error) self->state.error = {ErrorCode::aborted, wish.path + ": " + wish.why};
  stop(self);
}

void end_if_all_are_down(Self* self) {
  if (self->state.leading > 0 || self->state.root) return;
  const auto& error = self->state.error;
  self->state.parts.ended(error ? Result<void>(Failure(*error)) : Result<void>());
  self->quit(caf::exit_reason::user_shutdown);
}

void on_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  observe_down(self, down);
  if (!is_normal_end(down.reason) && !state.error) state.error = from_caf(down.reason);
  if (state.root && state.root == down.source) {
    state.root = nullptr;
    const bool unfinished = state.leading > 0 && !state.stopping;
    if (unfinished && !state.error) {
      state.error = {ErrorCode::aborted, "all actors ended before the work was done"};
    }
    stop(self);
  } else if (--state.leading == 0 || state.error) {
    stop(self);
  }
  end_if_all_are_down(self);
}

caf::behavior run(Self* self, Node* node, std::shared_ptr<Parts> parts) {
  keep_first_cause(*self);
  auto& state = self->state;
  state.parts = std::move(*parts);
  state.leading = state.parts.leaders.size();
  self->set_down_handler([=](caf::down_msg& down) { on_down(self, down); });
  self->set_exit_handler([=](caf::exit_msg&) {
    if (!self->state.error) self->state.error = {ErrorCode::aborted, "stopped on request"};
    stop(self);
  });
  for (const auto& leader : state.parts.leaders) self->monitor(leader);
  state.root = spawn_supervisor(*node, state.parts.root);
  self->monitor(state.root);
  observe_up(self, *node);
  return {[=](const EndChild& wish) { end_job(self, wish); }};
}

}  // namespace

std::string member_node_name(const std::string& job, const std::string& path, std::uint32_t index) {
  constexpr std::size_t room_for_lives = 12;  // "." and a number
  constexpr std::size_t longest = max_node_name - room_for_lives;
  std::string name = job + "." + path + "-" + std::to_string(index);
  std::replace(name.begin(), name.end(), '/', '.');  // no name within a path has a dot
  if (name.size() <= longest) return name;
  const auto hash = hash_text(name);
  return name.substr(0, longest - hash.size() - 1) + "." + hash;
}

Result<caf::actor> start_application(Node& node, msg::AppGraph::Reader graph,
                                     ApplicationOptions options) {
  auto parts = Builder(node, graph, options).build();
  if (!parts) return Failure(parts.error());
  return node.system().spawn(run, &node, std::make_shared<Parts>(std::move(*parts)));
}

}  // namespace troupe
