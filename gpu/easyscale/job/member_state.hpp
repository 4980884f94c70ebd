// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/exchange.hpp"
#include "gpu/easyscale/job/faults.hpp"
#include "gpu/easyscale/job/job_state.hpp"
#include "gpu/easyscale/job/view.hpp"
#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace troupe::easyscale {

namespace act {
struct RunRank {  ///< compute this rank's gradient now and hand it to `rank_done`
  Rank rank = 0;
  std::uint64_t step = 0;
};
struct GoOn {  ///< call `go_on(ticket)` after the messages that wait already
  std::uint64_t ticket = 0;
};
struct SendPiece {
  Member to = 0;
  Piece piece;
};
struct SendState {  ///< send a joiner the state at the start of `step`
  Member to = 0;
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
};
struct LoadState {  ///< take over a donor's state
  Slice bytes;
};
struct Apply {  ///< the optimizer step; the state is that of the next step afterwards
  std::vector<float> gradient;
  Slice buffers;
  std::vector<std::byte> contexts;  ///< of all ranks, in rank order
};
struct LookForSaved {  ///< load the newest saved state if it is of a later step than `than`, and
                       ///< call `looked` with its step, or with nothing
  std::uint64_t generation = 0;
  std::optional<std::uint64_t> than;
};
struct Save {  ///< keep a copy of the state at the start of `step` outside the process
  std::uint64_t step = 0;
};
struct SayReady {
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  std::vector<RankReport> ranks;
};
struct SayHolds {
  std::uint64_t generation = 0;
  std::optional<std::uint64_t> step;
};
struct Die {};   ///< a requested fault: SIGKILL to the own process
struct Reject {  ///< a message that makes no sense; it changed nothing
  Error error;
};
struct GiveUp {  ///< this trainer and its coordinator disagree: end, and be started again
  Error error;
};
}  // namespace act

using MemberAct = std::variant<act::RunRank, act::GoOn, act::SendPiece, act::SendState,
                               act::LoadState, act::LookForSaved, act::Apply, act::Save,
                               act::SayReady, act::SayHolds, act::Die, act::Reject, act::GiveUp>;
using MemberActs = std::vector<MemberAct>;

/// A trainer's side of the protocol of job_state.hpp, without model, network or clock. Each call
/// takes one input in and says what to do, in this order and before the next call. Owned by one
/// trainer.
class MemberState {
 public:
  /// `resume`: the step of a saved state that the trainer's replica has loaded.
  MemberState(Member self, ExchangeShape shape, std::uint64_t steps,
              std::optional<std::uint64_t> resume);

  /// Another coordinator took over: whatever was under way is dropped, the state is kept.
  void on_new_coordinator();
  MemberActs on_view(View view);
  MemberActs on_state(std::uint64_t generation, std::uint64_t step, Slice bytes);
  MemberActs on_piece(Piece piece);
  /// `view_follows`: as in effect::SendCommit.
  MemberActs on_commit(std::uint64_t generation, std::uint64_t step, bool view_follows);
  void on_fault(const Fault& fault) { faults_.push_back(fault); }
  MemberActs on_ask_held(std::uint64_t generation);
  /// The result of `LookForSaved`.
  MemberActs looked(std::uint64_t generation, std::optional<std::uint64_t> loaded);
  MemberActs go_on(std::uint64_t ticket);
  /// The result of `RunRank`; `buffers` as rank 0 left them, from rank 0 only; `context`: what the
  /// rank keeps for its next step.
  MemberActs rank_done(const RankReport& report, std::span<const float> gradient,
                       std::optional<Slice> buffers, std::span<const std::byte> context);

  /// The step that is computed now.
  [[nodiscard]] std::uint64_t step() const { return step_; }
  [[nodiscard]] bool has_state() const { return held_ == step_; }
  /// The step whose state the replica has; nothing: no state but what it made up itself.
  [[nodiscard]] std::optional<std::uint64_t> held() const { return held_; }

 private:
  struct Arrived {  // a state that came before its view
    std::uint64_t generation = 0;
    std::uint64_t step = 0;
    Slice bytes;
  };

  void clear_step();
  void start_step(MemberActs& acts);
  void start_computing(MemberActs& acts);
  void hand_in(MemberActs& acts);
  void adopt(Slice bytes, MemberActs& acts);
  void carry(Outcome outcome, MemberActs& acts);
  void say_ready_once(MemberActs& acts);
  [[nodiscard]] bool dies(FaultPhase phase) const;
  [[nodiscard]] RankRange own() const;

  Member self_;
  ExchangeShape shape_;
  std::uint64_t steps_;
  std::optional<std::uint64_t> held_;  // the step whose state the replica has
  bool closed_ = false;                // no state is adopted until the next view
  std::uint64_t step_ = 0;
  View view_;
  StepExchange exchange_;
  std::vector<RankReport> reports_;  // of the ranks computed in this step
  std::optional<Slice> buffers_;
  std::vector<std::byte> contexts_;  // of the ranks computed in this step
  bool handed_in_ = false;
  bool said_ready_ = false;
  std::uint64_t ticket_ = 0;  // of the only valid GoOn
  std::optional<Arrived> arrived_;
  std::vector<Fault> faults_;
};

}  // namespace troupe::easyscale
