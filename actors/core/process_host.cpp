// SPDX-License-Identifier: Apache-2.0
//
// A start has three steps: posix_spawn; the new node joins (PeerUp with the name that we gave it);
// its node actor makes the actor. The greeter, an actor of ours, sees the second step and asks for
// the third. A process that ends before, or takes too long, is reported with the last line of its
// log.
#include "actors/core/process_host.hpp"

#include "actors/core/engine_process.hpp"
#include "actors/core/launcher.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/core/supervise/host_messages.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <map>

namespace troupe {
namespace {

constexpr auto join_time = std::chrono::seconds(60);
constexpr auto spawn_time = std::chrono::seconds(60);

struct Expected {
  using actor_message = void;
  std::string name;
  Msg<msg::Spawn> spawn;
  std::filesystem::path log;
  ChildStarter::Report report;
};
struct Forget {
  using actor_message = void;
  std::string name;
};
struct Ended {
  using actor_message = void;
  std::string name;
  std::string how;
  bool by_itself = false;  ///< then its log says why
};

struct Greeter {
  std::map<std::string, Expected> expected;
};
using Self = caf::stateful_actor<Greeter>;

void report_failure(Self* self, const std::string& name, Error why, bool by_itself = false) {
  const auto it = self->state.expected.find(name);
  if (it == self->state.expected.end()) return;
  it->second.report(Failure(with_log(std::move(why), it->second.log, by_itself)));
  self->state.expected.erase(it);
}

void greet(Self* self, Node* node, const PeerInfo& peer) {
  const auto it = self->state.expected.find(peer.id.name);
  if (it == self->state.expected.end()) return;
  const auto name = peer.id.name;
  self->request(node->node_actor_of(peer), spawn_time, it->second.spawn)
      .then(
          [=](const Msg<msg::Spawned>& answer) {
            const auto found = self->state.expected.find(name);
            if (found == self->state.expected.end()) return;
            const auto number = answer.read()->getActor();
            found->second.report(node->resolve({peer.id, peer.control, number}));
            self->state.expected.erase(found);
          },
          [=](caf::error& why) { report_failure(self, name, from_caf(why)); });
}

caf::behavior run_greeter(Self* self, Node* node) {
  keep_first_cause(*self);
  return {[=](Expected& expected) {
            const auto name = expected.name;
            self->state.expected.emplace(name, std::move(expected));
            self->delayed_send(self, join_time, Ended{name, "it did not join within 60 s", false});
          },
          [=](const Forget& forget) { self->state.expected.erase(forget.name); },
          [=](const Ended& ended) {
            report_failure(self, ended.name, {ErrorCode::unavailable, ended.how}, ended.by_itself);
          },
          [=](const PeerUp& up) { greet(self, node, up.peer); },
          [](const PeerDown&) {},
          [](const ConnectFailed&) {}};
}

class Host final : public ProcessHost {
 public:
  Host(Node& node, std::string secret)
      : node_(node), secret_(std::move(secret)), greeter_(node.system().spawn(run_greeter, &node)) {
    node.watch(greeter_);
  }
  ~Host() override { caf::anon_send_exit(greeter_, caf::exit_reason::user_shutdown); }

  std::shared_ptr<ChildStarter> starter(HostedActor actor) override;

  Result<std::unique_ptr<Process>> launch(const HostedActor& actor, const std::string& name,
                                          const Kept& kept, ChildStarter::Report report);
  void forget(const std::string& name) { caf::anon_send(greeter_, Forget{name}); }

 private:
  Node& node_;
  std::string secret_;
  caf::actor greeter_;
  Launcher launcher_;
};

class ProcessLife final : public ChildLife {
 public:
  ProcessLife(std::shared_ptr<Host> host, std::string name, std::unique_ptr<Process> process)
      : host_(std::move(host)), name_(std::move(name)), process_(std::move(process)) {}
  ~ProcessLife() override { host_->forget(name_); }

  void ask_to_stop() override {
    if (process_) process_->terminate();
  }
  int pid() const override { return process_ ? process_->pid() : 0; }
  bool end() override {
    process_.reset();
    return true;
  }
  std::string post_mortem() override {
    if (!process_) return {};
    const auto how = process_->wait_for_end(Millis(200));
    return how.empty() ? how : "process " + std::to_string(process_->pid()) + ": " + how;
  }

 private:
  std::shared_ptr<Host> host_;
  std::string name_;
  std::unique_ptr<Process> process_;
};

class ProcessStarter final : public ChildStarter {
 public:
  ProcessStarter(std::shared_ptr<Host> host, HostedActor actor)
      : host_(std::move(host)), actor_(std::move(actor)) {}

  std::unique_ptr<ChildLife> start(Report report, const Kept& kept) override {
    const auto name = actor_.node_name + "." + std::to_string(++lives_);
    auto process = host_->launch(actor_, name, kept, report);
    if (!process) {
      report(Failure(process.error()));
      return std::make_unique<ProcessLife>(host_, name, nullptr);
    }
    return std::make_unique<ProcessLife>(host_, name, std::move(*process));
  }

 private:
  std::shared_ptr<Host> host_;
  HostedActor actor_;
  int lives_ = 0;
};

std::shared_ptr<ChildStarter> Host::starter(HostedActor actor) {
  return std::make_shared<ProcessStarter>(std::static_pointer_cast<Host>(shared_from_this()),
                                          std::move(actor));
}

Result<std::unique_ptr<Process>> Host::launch(const HostedActor& actor, const std::string& name,
                                              const Kept& kept, ChildStarter::Report report) {
  auto spawn = Msg<msg::Spawn>::build(
      [&](msg::Spawn::Builder b) {
        write_spawn(b, *actor.spawn.read());
        write_kept(b, node_, kept);
      },
      kept.state);
  EngineProcess engine;
  engine.binary = actor.binary;
  engine.node_name = name;
  engine.host = node_.self().control;
  engine.secret = secret_;
  engine.environment = actor.environment;
  engine.state_fd = actor.state_fd;
  engine.log = actor.log;
  caf::anon_send(greeter_, Expected{name, std::move(spawn), actor.log, std::move(report)});
  auto process =
      start_engine(launcher_, engine, [greeter = greeter_, name](const std::string& how) {
        caf::anon_send(greeter, Ended{name, "the process ended before it was ready: " + how,
                                      ended_by_itself(how)});
      });
  if (!process) forget(name);
  return process;
}

class LocalLife final : public ChildLife {
 public:
  explicit LocalLife(caf::actor actor) : actor_(std::move(actor)) {}
  ~LocalLife() override {
    if (actor_) caf::anon_send_exit(actor_, caf::exit_reason::kill);
  }
  bool end() override {
    if (!actor_) return true;
    caf::anon_send_exit(actor_, caf::exit_reason::kill);
    return false;
  }

 private:
  caf::actor actor_;
};

class LocalStarter final : public ChildStarter {
 public:
  explicit LocalStarter(std::function<Result<caf::actor>(const Kept&)> spawn)
      : spawn_(std::move(spawn)) {}
  std::unique_ptr<ChildLife> start(Report report, const Kept& kept) override {
    auto actor = spawn_(kept);
    auto life = std::make_unique<LocalLife>(actor ? *actor : nullptr);
    report(std::move(actor));
    return life;
  }

 private:
  std::function<Result<caf::actor>(const Kept&)> spawn_;
};

}  // namespace

std::shared_ptr<ProcessHost> ProcessHost::make(Node& node, const std::string& secret) {
  return std::make_shared<Host>(node, secret);
}

std::shared_ptr<ChildStarter> make_local_starter(
    std::function<Result<caf::actor>(const Kept&)> spawn) {
  return std::make_shared<LocalStarter>(std::move(spawn));
}

std::shared_ptr<ChildStarter> make_local_starter(std::function<Result<caf::actor>()> spawn) {
  return std::make_shared<LocalStarter>(
      [spawn = std::move(spawn)](const Kept&) { return spawn(); });
}

}  // namespace troupe
