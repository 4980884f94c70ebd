// SPDX-License-Identifier: Apache-2.0
//
// A launch has the steps of process_host.cpp: the process is started, its node joins this one
// (PeerUp with the name that it was given), its node actor makes the actor. What may be launched,
// and what becomes of orphans, is decided by HostTable.
#include "actors/core/supervise/host_actor.hpp"

#include "actors/base/fd.hpp"
#include "actors/base/log.hpp"
#include "actors/core/engine_process.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/core/supervise/host_messages.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <map>
#include <memory>
#include <optional>

namespace troupe {
namespace {

constexpr auto ready_time = std::chrono::seconds(60);

using Time = HostTable::Time;
using LaunchedPromise = caf::typed_response_promise<Msg<msg::Launched>>;

Time now() { return std::chrono::steady_clock::now(); }

struct ProcessEnded {
  using actor_message = void;
  std::string path;
  std::string node_name;
  std::string how;
};
struct NotReady {
  using actor_message = void;
  std::string path;
  std::string node_name;
};
struct TimeToLook {
  using actor_message = void;
};

/// What has been started and has not answered yet.
struct Awaited {
  LaunchedPromise promise;
  Msg<msg::Spawn> spawn;
};
struct Running {
  std::unique_ptr<Process> process;
  caf::strong_actor_ptr owner;
  std::filesystem::path log;
  std::string group;
  std::optional<Awaited> awaited;
};
/// The memory in which the members of a group keep their step beyond their own lives.
struct StepMemory {
  Fd fd;
  std::string owner;
};

struct State {
  Node* node = nullptr;
  HostOptions options;
  std::optional<HostTable> table;
  std::unique_ptr<Launcher> launcher;             // outlives the processes
  std::map<std::string, Running> running;         // by path
  std::map<std::string, caf::actor_addr> owners;  // that are watched, by key
  std::map<std::string, StepMemory> memories;     // by group
  std::optional<Time> looks_at;
  bool stopping = false;
};
using Self = caf::stateful_actor<State>;

void look_in_time(Self* self) {
  auto& state = self->state;
  const auto wake = state.table->wake();
  if (!wake || (state.looks_at && *state.looks_at <= *wake)) return;
  state.looks_at = wake;
  const auto pause = std::max(*wake - now(), Time::duration::zero());
  self->delayed_send(self, pause + std::chrono::milliseconds(1), TimeToLook{});
}

/// Who asks, as a key; watched from now on.
std::string note_owner(Self* self, const caf::strong_actor_ptr& asker) {
  auto key = caf::to_string(asker);
  if (self->state.owners.try_emplace(key, asker->address()).second) {
    self->monitor(caf::actor_cast<caf::actor>(asker));
  }
  return key;
}

/// Drops the step memories that nobody can use any more.
void drop_memories(Self* self) {
  auto& state = self->state;
  std::erase_if(state.memories, [&](const auto& entry) {
    const bool used = std::any_of(state.running.begin(), state.running.end(),
                                  [&](const auto& one) { return one.second.group == entry.first; });
    return !used && !state.owners.contains(entry.second.owner);
  });
}

Result<int> step_memory(Self* self, const std::string& group, const std::string& owner) {
  auto& state = self->state;
  const bool used = std::any_of(state.running.begin(), state.running.end(),
                                [&](const auto& one) { return one.second.group == group; });
  auto& memory = state.memories[group];
  if (!memory.fd || (memory.owner != owner && !used)) {
    auto made = make_memfd("troupe" + group.substr(0, 100));
    if (!made) return Failure(made.error());
    memory.fd = std::move(*made);
  }
  memory.owner = owner;
  return memory.fd.get();
}

void answer_failure(Running& running, const Error& why, bool by_itself) {
  if (!running.awaited) return;
  running.awaited->promise.deliver(to_caf(with_log(why, running.log, by_itself)));
  running.awaited.reset();
}

void tell_owner(Self* self, const caf::strong_actor_ptr& owner, const std::string& path,
                std::uint64_t life, const std::string& how, bool stops = false) {
  if (!owner) return;
  self->send(caf::actor_cast<caf::actor>(owner),
             Msg<msg::LifeEnded>::build([&](msg::LifeEnded::Builder b) {
               b.setPath(path);
               b.setLife(life);
               b.setHow(how);
               b.setHostStops(stops);
             }));
}

void quit_if_stopped(Self* self) {
  if (self->state.stopping && self->state.table->empty()) {
    self->quit(caf::exit_reason::user_shutdown);
  }
}

void bury(Self* self, const std::string& path, const std::string& how) {
  auto& state = self->state;
  const auto it = state.running.find(path);
  if (it == state.running.end()) return;
  const auto* life = state.table->find(path);
  log_info("{} (process {}) has ended: {}", path, life->pid, how);
  const bool told = it->second.awaited.has_value();
  answer_failure(it->second,
                 {ErrorCode::unavailable, "the process ended before it was ready: " + how},
                 ended_by_itself(how));
  if (!told) tell_owner(self, it->second.owner, path, life->life, how);
  state.table->ended(path);
  state.running.erase(it);
  drop_memories(self);
  quit_if_stopped(self);
}

void kill_and_bury(Self* self, const std::string& path) {
  auto& process = self->state.running.at(path).process;
  auto how = process->wait_for_end(Millis(0));
  if (how.empty()) how = "killed by signal 9 (Killed)";
  process.reset();  // waits until it is gone
  bury(self, path, how);
}

void carry_out(Self* self, const HostTable::Order& order) {
  const auto it = self->state.running.find(order.path);
  if (it == self->state.running.end()) return;
  if (order.kill) return kill_and_bury(self, order.path);
  it->second.process->terminate();
}

void on_process_ended(Self* self, const ProcessEnded& news) {
  const auto* life = self->state.table->find(news.path);
  if (life != nullptr && life->node_name == news.node_name) bury(self, news.path, news.how);
}

Result<EngineProcess> engine_for(Self* self, msg::Launch::Reader launch, const std::string& owner) {
  auto& state = self->state;
  EngineProcess engine;
  auto binary = state.options.find_program(launch.getProgram());
  if (!binary) return Failure(binary.error());
  engine.binary = std::move(*binary);
  auto memory = step_memory(self, launch.getGroup(), owner);
  if (!memory) return Failure(memory.error());
  engine.state_fd = *memory;
  engine.host = state.node->self().control;
  engine.secret = state.options.secret;
  engine.encrypt = state.options.encrypt;
  engine.environment = read_environment(launch);
  engine.log = state.options.logs / std::string(launch.getLog());
  std::error_code error;
  std::filesystem::create_directories(engine.log.parent_path(), error);
  if (error) {
    return fail(ErrorCode::unavailable, engine.log.parent_path().string() + ": " + error.message());
  }
  return engine;
}

/// An orphan gives way to who starts its path afresh; news of a death may come later than that.
void make_way(Self* self, const std::string& path) {
  const auto it = self->state.running.find(path);
  if (it == self->state.running.end()) return;
  const bool dead = !it->second.process->wait_for_end(Millis(0)).empty();
  if (dead || self->state.table->orphan_at(path)) kill_and_bury(self, path);
}

Result<void> launch(Self* self, const Msg<msg::Launch>& request, const caf::strong_actor_ptr& asker,
                    LaunchedPromise promise) {
  auto view = request.read();
  const msg::Launch::Reader launch = *view;
  auto& state = self->state;
  if (auto fine = check_launch(launch); !fine) return fine;
  if (!asker) return fail(ErrorCode::invalid_argument, "a launch for nobody");
  const std::string path = launch.getSpawn().getPath();
  make_way(self, path);
  const auto owner = note_owner(self, asker);
  auto name = state.table->launch(
      {path, launch.getLife(), launch.getNodeName(), owner, read_resources(launch.getTakes())});
  if (!name) return Failure(name.error());
  auto engine = engine_for(self, launch, owner);
  if (!engine) {
    state.table->ended(path);
    return fail_at(path, engine.error());
  }
  engine->node_name = *name;
  const caf::actor me = self;
  auto process =
      start_engine(*state.launcher, *engine, [me, path, node = *name](const std::string& how) {
        caf::anon_send(me, ProcessEnded{path, node, how});
      });
  if (!process) {
    state.table->ended(path);
    return fail_at(path, process.error());
  }
  state.table->started(path, (*process)->pid());
  log_info("{} is launched as {} (process {})", path, *name, (*process)->pid());
  state.running[path] = {std::move(*process), asker, engine->log, launch.getGroup(),
                         Awaited{promise, copy_spawn(launch.getSpawn(), copy_of(request.blob()))}};
  self->delayed_send(self, ready_time, NotReady{path, *name});
  return {};
}

void on_not_ready(Self* self, const std::string& path, const std::string& node_name,
                  const Error& why) {
  const auto* life = self->state.table->find(path);
  if (life == nullptr || life->node_name != node_name) return;
  auto& running = self->state.running.at(path);
  if (!running.awaited) return;
  answer_failure(running, why, false);
  running.owner = nullptr;  // it knows
  kill_and_bury(self, path);
}

void greet(Self* self, const PeerInfo& peer) {
  auto& state = self->state;
  const auto* life = state.table->find_node(peer.id.name);
  if (life == nullptr || !state.running.at(life->path).awaited) return;
  const auto path = life->path;
  self->request(state.node->node_actor_of(peer), ready_time, state.running.at(path).awaited->spawn)
      .then(
          [=](const Msg<msg::Spawned>& answer) {
            const auto* now_there = self->state.table->find(path);
            if (now_there == nullptr || now_there->node_name != peer.id.name) return;
            auto& running = self->state.running.at(path);
            if (!running.awaited) return;
            self->state.table->up(path, {peer.id, peer.control, answer.read()->getActor()});
            running.awaited->promise.deliver(Msg<msg::Launched>::build(
                [&](msg::Launched::Builder b) { write_life(b, *self->state.table->find(path)); }));
            running.awaited.reset();
          },
          [=](caf::error& why) { on_not_ready(self, path, peer.id.name, from_caf(why)); });
}

void end_life(Self* self, msg::EndLife::Reader request) {
  const std::string path = request.getPath();
  const auto asker = self->current_sender();
  const auto order = self->state.table->end(path, request.getLife(), request.getKill(),
                                            caf::to_string(asker), now());
  if (order) return carry_out(self, *order);
  tell_owner(self, asker, path, request.getLife(), "it is not there, or another's");
}

Result<Msg<msg::Launched>> adopt(Self* self, msg::Adopt::Reader request) {
  auto& state = self->state;
  if (!self->current_sender()) return fail(ErrorCode::invalid_argument, "adopted by nobody");
  const std::string path = request.getPath();
  const auto owner = note_owner(self, self->current_sender());
  auto life = state.table->adopt(path, request.getLife(), owner);
  if (!life) return Failure(life.error());
  auto& running = state.running.at(path);
  running.owner = self->current_sender();
  if (const auto it = state.memories.find(running.group); it != state.memories.end()) {
    it->second.owner = owner;
  }
  log_info("{} is adopted by {}", path, owner);
  return Msg<msg::Launched>::build([&](msg::Launched::Builder b) { write_life(b, *life); });
}

Msg<msg::LaunchedList> list(Self* self, msg::ListLaunched::Reader request) {
  const auto lives = self->state.table->below(request.getUnder().cStr());
  const auto asker = caf::to_string(self->current_sender());
  return Msg<msg::LaunchedList>::build([&](msg::LaunchedList::Builder b) {
    auto entries = b.initEntries(static_cast<unsigned>(lives.size()));
    for (unsigned i = 0; i < lives.size(); ++i) {
      write_life(entries[i].initLaunched(), *lives[i]);
      entries[i].setOrphan(lives[i]->orphan || lives[i]->owner == asker);
      entries[i].setReady(lives[i]->phase == HostedLife::Phase::up);
    }
  });
}

Msg<msg::HostInfo> info(Self* self) {
  const auto& table = *self->state.table;
  const auto number = self->state.node->ref(self).actor;
  return Msg<msg::HostInfo>::build([&](msg::HostInfo::Builder b) {
    b.setHost(number);
    const auto& labels = table.settings().labels;
    auto list = b.initLabels(static_cast<unsigned>(labels.size()));
    for (unsigned i = 0; i < labels.size(); ++i) list.set(i, labels[i]);
    write_resources(b.initTotal(), table.settings().total);
    write_resources(b.initFree(), table.free());
    b.setDraining(table.draining());
  });
}

void on_owner_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  for (auto it = state.owners.begin(); it != state.owners.end(); ++it) {
    if (it->second != down.source) continue;
    state.table->owner_gone(it->first, now());
    state.owners.erase(it);
    drop_memories(self);
    return look_in_time(self);
  }
}

void stop(Self* self) {
  auto& state = self->state;
  if (std::exchange(state.stopping, true)) return;
  state.table->drain();
  for (auto& [path, running] : state.running) {
    // First of all, so that nobody takes what follows for an end of its own.
    if (!running.awaited) {
      tell_owner(self, std::exchange(running.owner, nullptr), path, state.table->find(path)->life,
                 "its node is stopping", true);
    }
    running.process->terminate();
  }
  self->delayed_send(self, state.options.table.stop_time, caf::atom("too late"));
  quit_if_stopped(self);
}

void look(Self* self) {
  self->state.looks_at.reset();
  for (const auto& order : self->state.table->due(now())) {
    log_warn("{} has had no owner for its time: it is {}", order.path,
             order.kill ? "killed" : "asked to end");
    carry_out(self, order);
  }
  look_in_time(self);
}

caf::result<Msg<msg::Launched>> on_launch(Self* self, const Msg<msg::Launch>& request) {
  const auto asker = self->current_sender();  // which the promise takes
  auto promise = self->make_response_promise<Msg<msg::Launched>>();
  if (auto begun = launch(self, request, asker, promise); !begun) {
    promise.deliver(to_caf(begun.error()));
  }
  return promise;
}

caf::behavior run(Self* self, Node* node, std::shared_ptr<HostOptions> options) {
  keep_first_cause(*self);
  auto& state = self->state;
  state.node = node;
  state.options = std::move(*options);
  state.table.emplace(state.options.table);
  state.launcher = std::make_unique<Launcher>();
  self->set_exit_handler([=](caf::exit_msg&) { stop(self); });
  self->set_down_handler([=](caf::down_msg& down) { on_owner_down(self, down); });
  return {[=](const Msg<msg::HostQuery>&) { return info(self); },
          [=](const Msg<msg::Launch>& request) { return on_launch(self, request); },
          [=](const Msg<msg::EndLife>& request) {
            end_life(self, *request.read());
            look_in_time(self);
          },
          [=](const Msg<msg::ListLaunched>& request) { return list(self, *request.read()); },
          [=](const Msg<msg::Adopt>& request) -> caf::result<Msg<msg::Launched>> {
            auto adopted = adopt(self, *request.read());
            if (!adopted) return to_caf(adopted.error());
            return std::move(*adopted);
          },
          [=](const ProcessEnded& news) { on_process_ended(self, news); },
          [=](const NotReady& news) {
            on_not_ready(self, news.path, news.node_name,
                         {ErrorCode::unavailable, "it did not join within 60 s"});
          },
          [=](const TimeToLook&) { look(self); },
          [=](const PeerUp& up) { greet(self, up.peer); },
          [](const PeerDown&) {},
          [](const ConnectFailed&) {},
          [=](caf::atom_value) {
            while (!self->state.running.empty()) {
              kill_and_bury(self, std::string(self->state.running.begin()->first));
            }
            self->quit(caf::exit_reason::user_shutdown);
          }};
}

}  // namespace

caf::actor spawn_host_actor(Node& node, HostOptions options) {
  // Detached: it starts processes, and waits a moment for those that it kills.
  auto host = node.system().spawn<caf::detached>(run, &node,
                                                 std::make_shared<HostOptions>(std::move(options)));
  node.watch(host);
  node.offer(host_service, host);
  return host;
}

}  // namespace troupe
