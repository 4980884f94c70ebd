// SPDX-License-Identifier: Apache-2.0
// One trainer in a view: get the state if it is missing, compute the own ranks one by one (control
// messages get in between), hand the partial sums to the exchange, say Ready when the whole
// gradient is there, and change parameters when the commit comes. A new view drops whatever was
// computed.
#include "gpu/easyscale/job/member_state.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace troupe::easyscale {

MemberState::MemberState(Member self, ExchangeShape shape, std::uint64_t steps,
                         std::optional<std::uint64_t> resume)
    : self_(self),
      shape_(shape),
      steps_(steps),
      held_(resume),
      step_(resume.value_or(0)),
      exchange_(shape, self) {}

RankRange MemberState::own() const { return view_.ranges[*view_.slot_of(self_)]; }

bool MemberState::dies(FaultPhase phase) const {
  return std::any_of(faults_.begin(), faults_.end(), [&](const Fault& fault) {
    return fault.step == step_ && fault.phase == phase;
  });
}

void MemberState::on_new_coordinator() {
  clear_step();
  exchange_ = StepExchange(shape_, self_);
  view_ = {};
  step_ = held_.value_or(0);
  closed_ = false;
  arrived_.reset();
  faults_.clear();
}

MemberActs MemberState::on_view(View view) {
  if (view.generation <= view_.generation) return {};
  const auto members = static_cast<std::uint32_t>(view.members.size());
  if (members > shape_.group || !view.slot_of(self_) ||
      view.ranges != assign_ranks(shape_.ranks, members)) {
    return {act::Reject{{ErrorCode::corrupt, "a view without this trainer, or not a whole one"}}};
  }
  const bool joins = view.joins(self_);
  if (view.donor == self_ && view.step == 0 && !held_) held_ = 0;  // all start from what it made up
  if (!joins && held_ != view.step) {
    const std::string mine = held_ ? "that of step " + std::to_string(*held_) : "none";
    return {act::GiveUp{{ErrorCode::internal,
                         "view " + std::to_string(view.generation) + " needs the state of step " +
                             std::to_string(view.step) + ", and this trainer has " + mine}}};
  }
  step_ = view.step;
  view_ = std::move(view);
  closed_ = false;
  MemberActs acts;
  if (joins && has_state()) acts.emplace_back(act::SayHolds{view_.generation, held_});
  if (view_.donor == self_) {
    for (const Member joiner : view_.joiners) {
      acts.emplace_back(act::SendState{joiner, view_.generation, step_});
    }
  }
  start_step(acts);
  if (arrived_ && arrived_->generation <= view_.generation) {
    Arrived arrived = *std::exchange(arrived_, std::nullopt);
    if (arrived.generation == view_.generation && arrived.step == step_ && !has_state()) {
      adopt(std::move(arrived.bytes), acts);
    }
  }
  return acts;
}

MemberActs MemberState::on_state(std::uint64_t generation, std::uint64_t step, Slice bytes) {
  MemberActs acts;
  if (generation > view_.generation) {
    arrived_ = Arrived{generation, step, std::move(bytes)};
  } else if (generation == view_.generation && step == step_ && !has_state() && !closed_) {
    adopt(std::move(bytes), acts);
  }
  return acts;
}

void MemberState::adopt(Slice bytes, MemberActs& acts) {
  held_ = step_;
  acts.emplace_back(act::LoadState{std::move(bytes)});
  acts.emplace_back(act::SayHolds{view_.generation, held_});
  start_computing(acts);
}

// Whatever was computed is dropped, and a GoOn that is under way counts no more.
void MemberState::clear_step() {
  reports_.clear();
  buffers_.reset();
  contexts_.clear();
  handed_in_ = false;
  said_ready_ = false;
  ++ticket_;
}

void MemberState::start_step(MemberActs& acts) {
  clear_step();
  carry(exchange_.begin(view_, step_), acts);
  if (has_state()) start_computing(acts);
}

void MemberState::start_computing(MemberActs& acts) {
  if (view_.keeper() == self_) acts.emplace_back(act::Save{step_});
  if (step_ < steps_) acts.emplace_back(act::GoOn{ticket_});
}

MemberActs MemberState::on_ask_held(std::uint64_t generation) {
  closed_ = true;
  return {act::LookForSaved{generation, held_}};
}

MemberActs MemberState::looked(std::uint64_t generation, std::optional<std::uint64_t> loaded) {
  if (loaded) held_ = loaded;
  return {act::SayHolds{generation, held_}};
}

MemberActs MemberState::go_on(std::uint64_t ticket) {
  if (ticket != ticket_ || handed_in_) return {};
  const RankRange mine = own();
  const auto done = static_cast<Rank>(reports_.size());
  if (2 * done >= mine.count && dies(FaultPhase::forward)) return {act::Die{}};
  MemberActs acts;
  if (done < mine.count) {
    acts.emplace_back(act::RunRank{mine.first + done, step_});
  } else {
    hand_in(acts);
  }
  return acts;
}

MemberActs MemberState::rank_done(const RankReport& report, std::span<const float> gradient,
                                  std::optional<Slice> buffers,
                                  std::span<const std::byte> context) {
  MemberActs acts;
  if (auto ok = exchange_.add_rank(report.rank, gradient); !ok) {
    acts.emplace_back(act::Reject{ok.error()});
    return acts;
  }
  reports_.push_back(report);
  if (report.rank == 0) buffers_ = std::move(buffers);
  contexts_.insert(contexts_.end(), context.begin(), context.end());
  acts.emplace_back(act::GoOn{ticket_});
  return acts;
}

void MemberState::hand_in(MemberActs& acts) {
  handed_in_ = true;
  carry(exchange_.contribute(std::move(buffers_), std::move(contexts_)), acts);
  if (dies(FaultPhase::exchange)) acts.emplace_back(act::Die{});
  say_ready_once(acts);
}

MemberActs MemberState::on_piece(Piece piece) {
  MemberActs acts;
  carry(exchange_.receive(std::move(piece)), acts);
  say_ready_once(acts);
  return acts;
}

void MemberState::carry(Outcome outcome, MemberActs& acts) {
  for (Send& send : outcome.send) {
    acts.emplace_back(act::SendPiece{send.to, std::move(send.piece)});
  }
  for (Error& error : outcome.rejected) acts.emplace_back(act::Reject{std::move(error)});
}

void MemberState::say_ready_once(MemberActs& acts) {
  if (!handed_in_ || said_ready_ || !exchange_.done()) return;
  said_ready_ = true;
  acts.emplace_back(act::SayReady{view_.generation, step_, reports_});
}

MemberActs MemberState::on_commit(std::uint64_t generation, std::uint64_t step, bool view_follows) {
  if (generation < view_.generation) return {};
  if (generation != view_.generation || step != step_ || !said_ready_) {
    return {act::GiveUp{{ErrorCode::internal, "a commit of step " + std::to_string(step) +
                                                  " while this trainer is in step " +
                                                  std::to_string(step_)}}};
  }
  MemberActs acts;
  acts.emplace_back(
      act::Apply{exchange_.take_gradient(), exchange_.buffers(), exchange_.take_contexts()});
  if (dies(FaultPhase::optimizer)) acts.emplace_back(act::Die{});
  held_ = ++step_;
  if (view_follows) {
    clear_step();
  } else {
    start_step(acts);
  }
  return acts;
}

}  // namespace troupe::easyscale
