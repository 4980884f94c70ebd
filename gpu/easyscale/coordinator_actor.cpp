// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/coordinator_actor.hpp"

#include "actors/base/log.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/supervisor.hpp"
#include "gpu/easyscale/job/wait_watch.hpp"
#include "gpu/easyscale/match.hpp"
#include "gpu/easyscale/wire_link.hpp"
#include "messages/wire_ids.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <kj/exception.h>

#include <chrono>
#include <memory>
#include <utility>

namespace troupe::easyscale {
namespace {

Seconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::int64_t whole(std::uint64_t number) { return static_cast<std::int64_t>(number); }

constexpr auto tick = std::chrono::seconds(1);
struct Tick {
  using actor_message = void;
};

class Coordinator;
using Self = caf::stateful_actor<std::unique_ptr<Coordinator>>;

class Coordinator {
 public:
  Coordinator(Self* self, Node& node, CoordinatorSpec spec)
      : self_(self),
        node_(node),
        path_(std::move(spec.path)),
        emit_(std::move(spec.emit)),
        determinism_(spec.determinism),
        checkpoints_(std::move(spec.checkpoints)),
        job_(std::move(spec.plan)),
        actors_(job_.plan.count) {}

  void on_up(const MemberUp& up) {
    if (up.index >= actors_.size()) return;
    watch_.moved(now());
    actors_[up.index] = up.actor;
    self_->send(up.actor, Msg<msg::TrainerAttach>::build([&](msg::TrainerAttach::Builder b) {
                  b.setMember(up.index);
                  b.setTerm(job_.plan.term);
                  write(checkpoints_, b.initCheckpoints());
                }));
  }

  void on_down(const MemberDown& down) {
    if (down.index >= actors_.size()) return;
    actors_[down.index] = nullptr;
    take(input::Left{down.index, down.why.what, down.comes_back});
  }

  template <class Message>
  void on_checkpoint_news(const Message& message) {
    if (emit_) emit_(to_event(*message.read()));
  }

  void on_tick() {
    if (auto what = watch_.tick(job_, now())) emit("waiting", {{"what", std::move(*what)}});
    self_->delayed_send(self_, tick, Tick{});
  }

  // Passes a trainer's message on as `read(member)` makes it; what an earlier life of a trainer has
  // sent, or what cannot be read, is dropped.
  template <class Read>
  void on_message(const Read& read) {
    const LogScope scope(path_);
    const auto sender = caf::actor_cast<caf::actor>(self_->current_sender());
    for (Member member = 0; member < actors_.size(); ++member) {
      if (!sender || actors_[member] != sender) continue;
      try {
        return take(read(member));
      } catch (const kj::Exception& fault) {
        log_warn("trainer {} sent what cannot be read: {}", member, fault.getDescription().cStr());
      }
    }
  }

 private:
  void take(const JobInput& input) {
    const LogScope scope(path_);
    watch_.moved(now());
    for (const JobEffect& effect : step(job_, input, now())) {
      std::visit([&](const auto& e) { carry_out(e); }, effect);
    }
  }

  template <class Message>
  void send(Member to, Message message) {
    if (actors_[to]) self_->send(actors_[to], std::move(message));
  }

  void ask(Member to, msg::TrainAsk::What what, std::uint64_t epoch = 0,
           std::uint64_t generation = 0) {
    send(to, Msg<msg::TrainAsk>::build([&](msg::TrainAsk::Builder b) {
           b.setWhat(what);
           b.setEpoch(epoch);
           b.setGeneration(generation);
         }));
  }

  void emit(const char* name, std::vector<std::pair<std::string, Event::Value>> fields) {
    if (emit_) emit_(Event{name, std::move(fields)});
  }

  void carry_out(const effect::SendFault& e) { send(e.to, to_message(e.fault)); }
  void carry_out(const effect::SendCommit& e) { send(e.to, to_message(e)); }
  void carry_out(const effect::SendView& e) {
    send(e.to, to_message(e.view, [&](Member member, msg::ActorRef::Builder to) {
           write_ref(to, node_.ref(actors_[member]));
         }));
  }
  void carry_out(const effect::AskEvaluate& e) {
    ask(e.to, msg::TrainAsk::What::EVALUATE, e.epoch);
  }
  void carry_out(const effect::AskHash& e) { ask(e.to, msg::TrainAsk::What::HASH); }
  void carry_out(const effect::AskHeld& e) {
    ask(e.to, msg::TrainAsk::What::HELD, 0, e.generation);
  }

  // Counted from 1 for each coordinator.
  static std::int64_t number_of(const View& view) {
    return whole(view.generation & (first_generation(1) - 1));
  }

  void carry_out(const effect::ReportView& e) {
    if (e.first) {
      emit("start", {{"trainers", whole(job_.plan.count)},
                     {"ranks", whole(job_.plan.ranks)},
                     {"epochs", whole(job_.plan.epochs)},
                     {"steps", whole(job_.steps())},
                     {"determinism", to_string(determinism_)},
                     {"model", job_.terms->model},
                     {"costs", job_.terms->costs}});
    }
    emit("view", {{"view", number_of(e.view)},
                  {"members", whole(e.view.members.size())},
                  {"step", whole(e.view.step)},
                  {"why", e.why}});
  }
  void carry_out(const effect::ReportStep& e) {
    emit("step", {{"step", whole(e.step)},
                  {"steps", whole(job_.steps())},
                  {"loss", e.loss},
                  {"accuracy", e.accuracy}});
  }
  void carry_out(const effect::ReportEpoch& e) {
    std::vector<std::pair<std::string, Event::Value>> fields = {{"epoch", whole(e.epoch)}};
    if (e.loss) fields.emplace_back("loss", *e.loss);
    fields.emplace_back("test_accuracy", e.test_accuracy);
    fields.emplace_back("test_loss", e.test_loss);
    emit("epoch", std::move(fields));
  }
  void carry_out(const effect::Finish& e) {
    emit("done", {{"params_sha256", e.params_sha256},
                  {"state_sha256", e.state_sha256},
                  {"test_accuracy", e.test_accuracy},
                  {"test_loss", e.test_loss},
                  {"steps", whole(e.steps)},
                  {"redone_steps", whole(e.redone)},
                  {"train_s", e.wall.count()}});
    self_->quit();
  }
  void carry_out(const effect::Fail& e) { self_->quit(to_caf(e.error)); }
  void carry_out(const effect::Reject& e) { log_warn("training: {}", e.error.what); }

  Self* self_;
  Node& node_;
  std::string path_;
  EventSink emit_;
  Determinism determinism_;
  CheckpointTerms checkpoints_;
  JobState job_;
  WaitWatch watch_{now()};
  std::vector<caf::actor> actors_;  // by member; empty while it is down
};

caf::behavior run(Self* self, Node* node, const std::shared_ptr<CoordinatorSpec>& spec) {
  keep_first_cause(*self);
  self->state = std::make_unique<Coordinator>(self, *node, std::move(*spec));
  auto& it = *self->state;
  it.on_tick();
  return {[&it](const Tick&) { it.on_tick(); },
          [&it](const MemberUp& up) { it.on_up(up); },
          [&it](const MemberDown& down) { it.on_down(down); },
          [&it](const Msg<msg::TrainerHello>& m) {
            it.on_message([&](Member from) { return input::Joined{from, to_hello(*m.read())}; });
          },
          [&it](const Msg<msg::TrainerFailed>& m) {
            it.on_message([&](Member from) {
              return input::Failed{from, to_error(m.read()->getError())};
            });
          },
          [&it](const Msg<msg::TrainHolds>& m) {
            it.on_message([&](Member from) { return to_holds(from, *m.read()); });
          },
          [&it](const Msg<msg::TrainReady>& m) {
            it.on_message([&](Member from) { return to_ready(from, *m.read()); });
          },
          [&it](const Msg<msg::TrainEvaluated>& m) {
            it.on_message([&](Member from) {
              auto read = m.read();
              return input::Evaluated{from, read->getEpoch(), read->getCorrect(),
                                      read->getCounted(), read->getLoss()};
            });
          },
          [&it](const Msg<msg::TrainCheckpointed>& m) { it.on_checkpoint_news(m); },
          [&it](const Msg<msg::TrainHashes>& m) { it.on_checkpoint_news(m); },
          [&it](const Msg<msg::TrainHash>& m) {
            it.on_message([&](Member from) {
              auto read = m.read();
              return input::Hashed{from, read->getSha256(), read->getState()};
            });
          }};
}

}  // namespace

caf::actor spawn_coordinator(Node& node, CoordinatorSpec spec) {
  return node.system().spawn(run, &node, std::make_shared<CoordinatorSpec>(std::move(spec)));
}

}  // namespace troupe::easyscale
