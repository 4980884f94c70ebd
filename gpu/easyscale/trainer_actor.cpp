// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/trainer_actor.hpp"

#include "actors/base/log.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/net/bulk/bulk.hpp"
#include "actors/net/crypto.hpp"
#include "gpu/easyscale/checkpoint/trainer_link.hpp"
#include "gpu/easyscale/engine/script_program.hpp"
#include "gpu/easyscale/job/member_state.hpp"
#include "gpu/easyscale/job/step_slots.hpp"
#include "gpu/easyscale/kinds.hpp"
#include "gpu/easyscale/numerics.hpp"
#include "gpu/easyscale/tensor_link.hpp"
#include "gpu/easyscale/wire_link.hpp"
#include "messages/wire_ids.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <kj/exception.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <memory>
#include <utility>

namespace troupe::easyscale {
namespace {

struct GoOn {
  using actor_message = void;
  std::uint64_t ticket = 0;
};
struct CheckpointNewsCame {
  using actor_message = void;
};

class Trainer;
using Self = caf::stateful_actor<std::unique_ptr<Trainer>>;

class Trainer {
 public:
  Trainer(Self* self, Node& node, TrainerSpec spec)
      : self_(self),
        node_(node),
        spec_(std::move(spec)),
        slots_(spec_.state_fd),
        tensors_(node.bulk()) {}

  void on_attach(const Msg<msg::TrainerAttach>& message) {
    const auto term = message.read()->getTerm();
    const auto sender = caf::actor_cast<caf::actor>(self_->current_sender());
    if (!sender || term <= term_) return;
    coordinator_ = sender;
    term_ = term;
    guarded([&] {
      const auto hello = replica_ || failure_ ? greet_again() : make_replica(*message.read());
      if (!hello) return report(hello.error());
      self_->send(coordinator_, to_message(*hello));
    });
  }

  /// Only the coordinator of the highest term gives orders; one that was taken for dead may still.
  [[nodiscard]] bool is_ordered() const {
    return member_ && coordinator_ && self_->current_sender() == coordinator_;
  }

  void on_view(const Msg<msg::TrainView>& message) {
    if (!is_ordered()) return;
    auto read = message.read();
    View view = to_view(*read);
    std::map<Member, Peer> peers;
    for (const auto seat : read->getSeats()) {
      if (seat.getMember() == spec_.member) continue;
      const auto ref = read_ref(seat.getActor());
      peers[seat.getMember()] = {node_.resolve(ref), is_another_process_here(node_.self(), ref)};
    }
    peers_ = std::move(peers);
    tensors_.end_views_before(view.generation);
    carry_out(member_->on_view(std::move(view)));
  }

  void on_state(const Msg<msg::TrainState>& message) {
    if (!member_) return;
    auto read = message.read();
    const auto bytes = take(message.blob(), read->getBulk());
    if (bytes) carry_out(member_->on_state(read->getGeneration(), read->getStep(), *bytes));
  }

  void on_piece(const Msg<msg::TrainPiece>& message) {
    if (!member_) return;
    auto read = message.read();
    const auto bytes = take(message.blob(), read->getBulk());
    if (bytes) carry_out(member_->on_piece(to_piece(*read, *bytes)));
  }

  void on_commit(const Msg<msg::TrainCommit>& message) {
    auto read = message.read();
    if (!is_ordered()) return;
    tensors_.end_step(read->getGeneration(), read->getStep());  // all have what they needed for it
    carry_out(member_->on_commit(read->getGeneration(), read->getStep(), read->getViewFollows()));
  }

  void on_fault(const Msg<msg::TrainFault>& message) {
    if (is_ordered()) member_->on_fault(to_fault(*message.read()));
  }

  void on_go_on(std::uint64_t ticket) {
    if (member_) carry_out(member_->go_on(ticket));
  }

  void on_checkpoint_news() {
    if (checkpoints_) checkpoints_->send_news(*self_, coordinator_);
  }

  void on_ask(const Msg<msg::TrainAsk>& message) {
    if (!is_ordered()) return;
    auto read = message.read();
    switch (read->getWhat()) {
      case msg::TrainAsk::What::HELD:
        return carry_out(member_->on_ask_held(read->getGeneration()));
      case msg::TrainAsk::What::EVALUATE:
        return guarded([&] { evaluate(read->getEpoch()); });
      case msg::TrainAsk::What::HASH:
        return guarded([&] { tell_hash(); });
    }
  }

 private:
  struct Peer {
    caf::actor actor;
    bool is_near = false;  ///< another process of this host
  };

  // What torch and the user's program throw ends the job: it would happen again.
  template <class Body>
  void guarded(const Body& body) {
    try {
      body();
    } catch (const std::exception& fault) {
      const std::string words = fault.what();
      report({ErrorCode::internal, words.substr(0, words.find('\n'))});  // torch adds a backtrace
    }
  }

  void report(const Error& error) {
    log_error("trainer {}: {}", spec_.member, error.what);
    self_->send(coordinator_, to_message(error));
    failure_ = error;
    member_.reset();  // nothing more is done
  }

  Result<Hello> make_replica(msg::TrainerAttach::Reader attach) {
    const auto program = spec_.programs.find(spec_.program);
    if (program == spec_.programs.end()) {
      std::string known;
      for (const auto& [name, one] : spec_.programs) known += (known.empty() ? "" : ", ") + name;
      return fail(ErrorCode::not_found,
                  "there is no training program \"" + spec_.program + "\"; known: " + known);
    }
    if (auto ok = check_numerics(spec_.determinism); !ok) return Failure(ok.error());
    auto made = Replica::make(program->second, spec_.options);
    if (!made) return Failure(made.error());
    replica_.emplace(std::move(*made));
    Hello hello = make_hello(load_saved(std::nullopt));
    checkpoints_.emplace(read_terms(attach.getCheckpoints()), hello.fingerprint, spec_.options,
                         *replica_, news_sender());
    if (!hello.resume) {
      auto resumed = checkpoints_->resume();
      if (!resumed) return Failure(resumed.error());
      hello.resume = *resumed;
    }
    const bool chain = spec_.determinism == Determinism::d0;
    member_.emplace(spec_.member,
                    ExchangeShape{spec_.options.ranks, spec_.group, hello.gradient, hello.buffers,
                                  hello.context, chain ? Reducer::chain : spec_.reducer},
                    replica_->steps(), hello.resume);
    return hello;
  }

  // To a coordinator that took over.
  Result<Hello> greet_again() {
    if (failure_) return Failure(*failure_);
    member_->on_new_coordinator();
    return make_hello(member_->held());
  }

  [[nodiscard]] Hello make_hello(std::optional<std::uint64_t> resume) const {
    const ModuleScan scan = replica_->scan();
    return {replica_->steps_per_epoch(),
            replica_->gradient_length(),
            replica_->buffer_bytes(),
            replica_->context_bytes(),
            numeric_fingerprint(spec_.determinism),
            resume,
            scan.text(),
            scan.costs()};
  }

  // What the checkpoints' thread calls.
  std::function<void()> news_sender() {
    return [addr = self_->address()] {
      if (const auto self = caf::actor_cast<caf::actor>(addr)) {
        caf::anon_send(self, CheckpointNewsCame{});
      }
    };
  }

  // Loads the newest saved state if it is of a later step than `than`, and gives its step. One that
  // cannot be had is none: a peer may have the state all the same.
  std::optional<std::uint64_t> load_saved(std::optional<std::uint64_t> than) {
    if (spec_.state_fd < 0) return std::nullopt;
    const auto saved = slots_.latest();
    if (!saved) log_warn("{}", saved.error().what);
    if (!saved || !saved->has_value() || (than && (*saved)->step <= *than)) return std::nullopt;
    snapshot_.reset();
    const auto loaded = replica_->load((*saved)->state);
    if (loaded) return (*saved)->step;
    log_warn("saved step state: {}", loaded.error().what);
    return std::nullopt;
  }

  // The state between two commits, made once however many ask for it.
  const Slice& snapshot() {
    if (!snapshot_ || snapshot_->first != replica_->step()) {
      snapshot_.emplace(replica_->step(), Slice::own(replica_->save()));
    }
    return snapshot_->second;
  }

  void evaluate(std::uint64_t epoch) {
    const auto accuracy = replica_->evaluate();
    if (!accuracy) return report(accuracy.error());
    self_->send(coordinator_, Msg<msg::TrainEvaluated>::build([&](msg::TrainEvaluated::Builder b) {
                  b.setEpoch(epoch);
                  b.setCorrect(accuracy->correct);
                  b.setCounted(accuracy->counted);
                  b.setLoss(accuracy->loss);
                }));
  }

  void tell_hash() {
    checkpoints_->flush();  // a job is done when its last checkpoint is written
    on_checkpoint_news();
    Sha256 parameters;
    parameters.update(replica_->parameter_bytes());
    Sha256 state;
    state.update(snapshot().bytes());
    self_->send(coordinator_, Msg<msg::TrainHash>::build([&](msg::TrainHash::Builder b) {
                  b.setSha256(parameters.hex());
                  b.setState(state.hex());
                }));
  }

  void carry_out(MemberActs acts) {
    for (MemberAct& one : acts) {
      if (!member_) return;  // an earlier one has failed
      guarded([&] { std::visit([&](auto& act) { carry_out(act); }, one); });
    }
  }

  // None: what they were for is over, because the sender has gone on or is dead.
  std::optional<Slice> take(const Slice& blob, msg::BulkRef::Reader bulk) {
    auto bytes = tensors_.take(blob, bulk);
    if (bytes) return *bytes;
    if (TensorLink::is_over(bytes.error())) return std::nullopt;
    // Nobody sends it again: a fresh start asks for everything.
    self_->quit(to_caf(bytes.error()));
    member_.reset();
    return std::nullopt;
  }

  // `message` gets where the bytes are to be pulled from, if they are.
  template <class Message>
  void send(Member to, std::uint64_t generation, std::uint64_t step, const Slice& bytes,
            const Message& message) {
    const auto peer = peers_.find(to);
    if (peer == peers_.end() || !peer->second.actor) return;
    std::optional<BulkRef> bulk;
    if (peer->second.is_near) bulk = tensors_.offer(generation, step, bytes);
    self_->send(peer->second.actor, message(bulk));
  }

  void carry_out(act::RunRank& act) {
    const auto result = replica_->run_rank(act.rank);
    if (!result) return report(result.error());
    carry_out(
        member_->rank_done(result->report, result->gradient, result->buffers, result->context));
  }
  void carry_out(act::GoOn& act) { self_->send(self_, GoOn{act.ticket}); }
  void carry_out(act::SendPiece& act) {
    const auto& piece = act.piece;
    send(act.to, piece.generation, piece.step, piece.bytes,
         [&](const auto& bulk) { return to_message(piece, bulk); });
  }
  void carry_out(act::SendState& act) {
    send(act.to, act.generation, act.step, snapshot(),
         [&](const auto& bulk) { return to_message(act, snapshot(), bulk); });
  }
  void carry_out(act::LoadState& act) {
    snapshot_.reset();
    const auto loaded = replica_->load(act.bytes.bytes());
    // A peer of this job wrote it: if it is damaged, starting again asks for it again.
    if (!loaded) give_up(loaded.error());
  }
  void carry_out(act::LookForSaved& act) {
    carry_out(member_->looked(act.generation, load_saved(act.than)));
  }
  void carry_out(act::Apply& act) {
    if (auto ok = replica_->apply(act.gradient, act.buffers.bytes(), act.contexts); !ok) {
      report(ok.error());
    }
  }
  void carry_out(act::Save& act) {
    if (checkpoints_->wants(act.step)) checkpoints_->keep(act.step, snapshot());
    if (spec_.state_fd < 0) return;
    const auto saved = slots_.save(act.step, snapshot().bytes());
    if (!saved) log_warn("{}", saved.error().what);  // costs safety if all die, not correctness
  }
  void carry_out(act::SayReady& act) { self_->send(coordinator_, to_message(act)); }
  void carry_out(act::SayHolds& act) { self_->send(coordinator_, to_message(act)); }
  void carry_out(act::Reject& act) { log_warn("trainer {}: {}", spec_.member, act.error.what); }
  void carry_out(act::GiveUp& act) { give_up(act.error); }
  void carry_out(act::Die&) {
    // A trainer that shares its coordinator's process would take the whole job with it.
    if (coordinator_->node() != self_->node()) ::kill(::getpid(), SIGKILL);
    give_up({ErrorCode::aborted, "killed on request"});
  }

  void give_up(const Error& error) {
    self_->quit(to_caf(error));
    member_.reset();  // nothing more is done or said
  }

  Self* self_;
  Node& node_;
  TrainerSpec spec_;
  StepSlots slots_;
  caf::actor coordinator_;
  Term term_ = 0;  ///< of the coordinator
  std::optional<Replica> replica_;
  std::optional<TrainerCheckpoints> checkpoints_;  // of the replica
  std::optional<MemberState> member_;
  std::optional<Error> failure_;
  std::map<Member, Peer> peers_;
  TensorLink tensors_;
  std::optional<std::pair<std::uint64_t, Slice>> snapshot_;
};

caf::behavior run(Self* self, Node* node, const std::shared_ptr<TrainerSpec>& spec) {
  keep_first_cause(*self);
  LogScope::of_thread(spec->path);  // it is detached: the thread is its own
  self->state = std::make_unique<Trainer>(self, *node, std::move(*spec));
  auto& it = *self->state;
  return {[&it](const Msg<msg::TrainerAttach>& m) { it.on_attach(m); },
          [&it](CheckpointNewsCame) { it.on_checkpoint_news(); },
          [&it](const Msg<msg::TrainView>& m) { it.on_view(m); },
          [&it](const Msg<msg::TrainState>& m) { it.on_state(m); },
          [&it](const Msg<msg::TrainPiece>& m) { it.on_piece(m); },
          [&it](const Msg<msg::TrainCommit>& m) { it.on_commit(m); },
          [&it](const Msg<msg::TrainFault>& m) { it.on_fault(m); },
          [&it](const Msg<msg::TrainAsk>& m) { it.on_ask(m); },
          [&it](const GoOn& go) { it.on_go_on(go.ticket); }};
}

}  // namespace

caf::actor spawn_trainer(Node& node, TrainerSpec spec) {
  return node.system().spawn<caf::detached>(run, &node,
                                            std::make_shared<TrainerSpec>(std::move(spec)));
}

}  // namespace troupe::easyscale

namespace troupe {

void register_easyscale_trainer(ActorKinds& kinds, TrainPrograms programs) {
  register_easyscale(kinds);
  ActorKind kind = *kinds.find("easyscale.trainer");
  // Torch's generators and thread numbers are one for the process, whoever trains in it.
  kind.spawn = [programs = std::move(programs),
                lease = std::make_shared<std::mutex>()](const SpawnContext& context) {
    const auto args = context.args.getAs<msg::TrainerArgs>();
    easyscale::TrainerSpec spec;
    spec.path = context.path;
    spec.program = args.getProgram();
    spec.programs = programs;
    if (args.getModule().size() > 0) {
      spec.program = "the module";
      spec.programs[spec.program] = easyscale::make_script_program(args.getModule());
    }
    spec.options = {.seed = context.seed,
                    .ranks = args.getRanks(),
                    .batch = args.getBatch(),
                    .epochs = args.getEpochs(),
                    .data = args.getData(),
                    .device = args.getDevice(),
                    .accumulate = args.getAccumulate(),
                    .clip_norm = args.getClipNorm(),
                    .bf16 = args.getPrecision() == msg::Precision::BF16,
                    .lease = lease};
    spec.member = context.index;
    spec.group = context.count;
    spec.state_fd = context.state_fd;
    spec.determinism = easyscale::to_determinism(args.getDeterminism());
    spec.reducer = args.getReducer() == msg::Reducer::INT64 ? easyscale::Reducer::int64
                                                            : easyscale::Reducer::tree;
    return Result<caf::actor>(easyscale::spawn_trainer(context.node, std::move(spec)));
  };
  kinds.add(std::move(kind));
}

}  // namespace troupe
