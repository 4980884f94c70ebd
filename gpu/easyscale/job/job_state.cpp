// SPDX-License-Identifier: Apache-2.0
// The step as a transaction. Members compute, exchange and report Ready; when all members of the
// view are ready the step is committed, and only a commit changes parameters. Hence:
//   - a member that dies before the commit is replaced by a new view from the same step (survivors
//     still hold the state at its start), one that dies after it by a new view from the next step;
//   - members that came up meanwhile are taken in whenever a new view is made, at the latest after
//     the next commit, and get the state from the donor while the others compute. That commit says
//     that a view follows, so that nobody begins a step which the new view would throw away;
//   - when nobody has the state in memory any more, those that are started again say which saved
//     state they found, and the newest one becomes the donor's (EasyScale, arXiv 2208.14228,
//     section 3.2, checkpoints for this; the saved state here is at most one step old);
//   - a member that does not come back is not waited for, whether it ever came up or not.
// An epoch's accuracy is measured between two commits, so the next commit waits for it.
#include "gpu/easyscale/job/job_state.hpp"

#include <algorithm>
#include <utility>

namespace troupe::easyscale {
namespace {

using Phase = JobState::Phase;

std::string name(Member member) { return "trainer " + std::to_string(member); }

double ratio(std::uint64_t correct, std::uint64_t counted) {
  return counted == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(counted);
}

class Decision {
 public:
  Decision(JobState& state, Seconds now) : s_(state), now_(now) {}

  JobEffects take() { return std::move(out_); }

  void on(const input::Joined& in) {
    if (auto ok = agree(in); !ok) return end(ok.error());
    JobState::Peer& peer = s_.peers[in.member];
    const bool missed_its_end = peer.up;
    if (missed_its_end) on(input::Left{in.member, "was replaced", true});
    if (s_.phase == Phase::done || s_.phase == Phase::failed) return;
    peer = {};
    peer.up = true;
    peer.held = in.hello.resume;
    peer.sure = !s_.begun || (peer.held && *peer.held >= s_.step);
    if (s_.phase == Phase::gathering) form(name(in.member) + " joined");
  }

  void on(const input::Left& in) {
    JobState::Peer& peer = s_.peers[in.member];
    const bool was_up = peer.up;
    if (peer.in_view) ++s_.deaths;
    peer = {};
    peer.comes_back = in.comes_back;
    last_words_ = in.why;
    if (s_.phase != Phase::gathering && !was_up) return;
    if (s_.evaluator == in.member) s_.evaluator.reset();
    if (s_.phase == Phase::gathering) return form(name(in.member) + " left: " + in.why);
    if (s_.step == s_.steps() && anybody_live()) return conclude();
    if (s_.view.slot_of(in.member)) form(name(in.member) + " left: " + in.why);
  }

  void on(const input::Holds& in) {
    JobState::Peer& peer = s_.peers[in.member];
    if (!peer.up || in.generation != s_.view.generation) return;
    peer.held = in.step;
    peer.sure = true;
    peer.asked_held = false;
    peer.live = peer.live || (peer.in_view && in.step == s_.step);
    if (s_.phase == Phase::gathering) form(name(in.member) + " said what it has");
  }

  void on(const input::Ready& in) {
    if (in.generation != s_.view.generation || in.step != s_.step) return;  // of an older view
    const auto slot = s_.view.slot_of(in.member);
    JobState::Peer& peer = s_.peers[in.member];
    if (!slot || !peer.up || peer.ready) return reject(in.member, "is ready out of turn");
    const RankRange own = s_.view.ranges[*slot];
    if (in.ranks.size() != own.count) return reject(in.member, "reports other ranks than its own");
    for (std::size_t i = 0; i < in.ranks.size(); ++i) {
      if (in.ranks[i].rank != own.first + i) {
        return reject(in.member, "reports other ranks than its own");
      }
    }
    for (const RankReport& report : in.ranks) s_.reports[report.rank] = report;
    peer.ready = true;
    peer.live = true;
    commit_if_all_ready();
  }

  void on(const input::Evaluated& in) {
    if (s_.evaluating != in.epoch || s_.evaluator != in.member) return;
    s_.evaluating.reset();
    s_.evaluator.reset();
    s_.test_accuracy = ratio(in.correct, in.counted);
    s_.test_loss = in.loss;
    if (in.epoch >= s_.epochs_reported) {
      s_.epochs_reported = in.epoch + 1;
      out_.push_back(
          effect::ReportEpoch{in.epoch + 1, mean_loss(), s_.test_accuracy, s_.test_loss});
    }
    if (s_.step == s_.steps()) return conclude();
    commit_if_all_ready();
  }

  void on(const input::Hashed& in) {
    JobState::Peer& peer = s_.peers[in.member];
    if (s_.step != s_.steps() || !peer.asked_hash) return;
    peer.hashed = in;
    conclude();
  }

  void on(const input::Failed& in) { end({in.error.code, name(in.member) + ": " + in.error.what}); }

 private:
  void end(Error error) {
    s_.phase = Phase::failed;
    out_.push_back(effect::Fail{std::move(error)});
  }

  void reject(Member member, const std::string& what) {
    out_.push_back(effect::Reject{{ErrorCode::corrupt, name(member) + " " + what}});
  }

  Result<void> agree(const input::Joined& in) {
    const Hello& hello = in.hello;
    if (!s_.terms) {
      if (hello.steps_per_epoch == 0 || hello.gradient == 0) {
        return fail(ErrorCode::invalid_argument, name(in.member) + " has nothing to train");
      }
      if (auto ok = check_faults(hello.steps_per_epoch * s_.plan.epochs); !ok) return ok;
      s_.terms = hello;
    }
    if (hello.fingerprint != s_.terms->fingerprint) {
      return fail(ErrorCode::version_mismatch,
                  name(in.member) + " would compute other bits than the trainers before it: \"" +
                      hello.fingerprint + "\" here, \"" + s_.terms->fingerprint +
                      "\" there; use machines of one type with the same libraries");
    }
    if (hello.steps_per_epoch != s_.terms->steps_per_epoch ||
        hello.gradient != s_.terms->gradient || hello.buffers != s_.terms->buffers ||
        hello.context != s_.terms->context) {
      return fail(ErrorCode::invalid_argument,
                  name(in.member) +
                      " has another model or another data set than the trainers "
                      "before it: compare their programs and data files");
    }
    return {};
  }

  Result<void> check_faults(std::uint64_t steps) const {
    for (const Fault& fault : s_.plan.faults) {
      if (fault.step < steps) continue;
      return fail(ErrorCode::invalid_argument, "--kill-one-at " + std::to_string(fault.step) +
                                                   ": the job has " + std::to_string(steps) +
                                                   " steps, counted from 0");
    }
    return {};
  }

  [[nodiscard]] bool anybody_live() const {
    return std::any_of(s_.peers.begin(), s_.peers.end(), [](const auto& p) { return p.live; });
  }

  // Who gives the state of s_.step to the others, if that can be said now; may set s_.step back.
  std::optional<Member> find_donor() {
    std::optional<Member> best;
    bool all_up = true;
    bool any_up = false;
    for (Member m = 0; m < s_.peers.size(); ++m) {
      const JobState::Peer& peer = s_.peers[m];
      if (peer.live) return m;
      all_up = all_up && (peer.up ? peer.sure : !peer.comes_back);
      any_up = any_up || peer.up;
      if (!peer.sure || !peer.held) continue;
      if (!best || *peer.held > *s_.peers[*best].held) best = m;
    }
    const bool newest = best && s_.step > 0 && *s_.peers[*best].held >= s_.step;
    if (!all_up && !newest) {
      ask_the_unsure();
      return std::nullopt;
    }
    if (!any_up) {
      end({ErrorCode::aborted,
           "all trainers have ended and none is started again; the last one: " + last_words_});
      return std::nullopt;
    }
    if (best) {
      s_.step = *s_.peers[*best].held;
      return best;
    }
    if (s_.step > 0) {
      end({ErrorCode::aborted, "the state of step " + std::to_string(s_.step) +
                                   " is lost: all trainers died, and none found a saved one"});
      return std::nullopt;
    }
    for (Member m = 0; m < s_.peers.size(); ++m) {
      if (s_.peers[m].up) return m;
    }
    return std::nullopt;
  }

  void ask_the_unsure() {
    for (Member m = 0; m < s_.peers.size(); ++m) {
      JobState::Peer& peer = s_.peers[m];
      if (!peer.up || peer.sure || std::exchange(peer.asked_held, true)) continue;
      out_.push_back(effect::AskHeld{m, s_.view.generation});
    }
  }

  // Over the steps of the epoch that this coordinator has seen; nothing where it has seen none.
  [[nodiscard]] std::optional<double> mean_loss() const {
    if (s_.epoch_losses.empty()) return std::nullopt;
    double sum = 0;
    for (const auto& [step, loss] : s_.epoch_losses) sum += loss;
    return sum / static_cast<double>(s_.epoch_losses.size());
  }

  // Where the coordinator or the run before this one may have ended: an epoch that has just been
  // trained may not have been measured, and is measured again rather than never.
  void take_over() {
    const std::uint64_t epoch = s_.step / s_.terms->steps_per_epoch;
    s_.highest = s_.step;
    s_.epochs_reported = epoch;
    if (epoch == 0 || s_.step % s_.terms->steps_per_epoch != 0) return;
    s_.epochs_reported = epoch - 1;
    s_.evaluating = epoch - 1;
  }

  void form(const std::string& why) {
    s_.phase = Phase::gathering;
    s_.reports.clear();
    for (auto& peer : s_.peers) peer.ready = false;
    const std::uint64_t step_before = s_.step;  // a saved state can be one step older
    const auto donor = find_donor();
    if (!donor) return;
    const bool resumed = !s_.peers[*donor].live && s_.peers[*donor].held.has_value();
    s_.phase = Phase::running;
    s_.peers[*donor].live = true;
    View next;
    next.generation = s_.view.generation + 1;
    next.step = s_.step;
    next.donor = *donor;
    for (Member m = 0; m < s_.peers.size(); ++m) {
      if (!s_.peers[m].up) continue;
      next.members.push_back(m);
      s_.peers[m].sure = s_.peers[m].live;
      s_.peers[m].asked_held = false;
      s_.peers[m].in_view = true;
      if (!s_.peers[m].live) next.joiners.push_back(m);
    }
    next.ranges = assign_ranks(s_.plan.ranks, static_cast<std::uint32_t>(next.members.size()));
    // The step that was under way, and those that were committed and are lost.
    const std::uint64_t lost =
        step_before - std::min(step_before, s_.step) + (step_before < s_.steps() ? 1 : 0);
    s_.redone += std::min(std::exchange(s_.deaths, 0), lost);
    s_.view = std::move(next);
    const bool takes_over = !s_.begun && s_.plan.term > 1;
    std::string reason = s_.begun ? why : takes_over ? "another coordinator took over" : "start";
    if (takes_over || (!s_.begun && s_.step > 0)) take_over();
    if (resumed && !takes_over)
      reason += "; resumed from the saved state of step " + std::to_string(s_.step);
    if (!s_.began) s_.began = now_;
    s_.begun = true;
    const bool first = s_.view.generation == first_generation(1) + 1;
    out_.push_back(effect::ReportView{s_.view, first, std::move(reason)});
    order_faults();
    for (const Member m : s_.view.members) out_.push_back(effect::SendView{m, s_.view});
    if (s_.evaluating && s_.step != (*s_.evaluating + 1) * s_.terms->steps_per_epoch) {
      s_.evaluating.reset();
    }
    s_.evaluator.reset();
    conclude();
  }

  // Asks for what is to be known at this point of the job: an epoch's accuracy, at the end the
  // hashes.
  void conclude() {
    if (s_.evaluating) {
      if (s_.evaluator) return;
      s_.evaluator = least_busy();
      if (s_.evaluator) out_.push_back(effect::AskEvaluate{*s_.evaluator, *s_.evaluating});
      return;
    }
    if (s_.step < s_.steps() || s_.phase != Phase::running) return;
    bool all = true;
    for (Member m = 0; m < s_.peers.size(); ++m) {
      JobState::Peer& peer = s_.peers[m];
      if (!peer.live) continue;
      if (!std::exchange(peer.asked_hash, true)) out_.push_back(effect::AskHash{m});
      all = all && peer.hashed.has_value();
    }
    if (all && anybody_live()) finish();
  }

  void finish() {
    const Member first = *first_live();
    const input::Hashed& expected = *s_.peers[first].hashed;
    std::string odd;
    for (Member m = 0; m < s_.peers.size(); ++m) {
      const auto& said = s_.peers[m].hashed;
      if (!said || said->state_sha256 == expected.state_sha256) continue;
      odd += ", " + name(m) + " has " + said->state_sha256;
    }
    if (!odd.empty()) {
      return end({ErrorCode::internal, "the trainers ended with different states: " + name(first) +
                                           " has " + expected.state_sha256 + odd});
    }
    s_.phase = Phase::done;
    out_.push_back(effect::Finish{expected.params_sha256, expected.state_sha256, s_.test_accuracy,
                                  s_.test_loss, s_.steps(), s_.redone,
                                  now_ - s_.began.value_or(now_)});
  }

  [[nodiscard]] std::optional<Member> first_live() const {
    for (Member m = 0; m < s_.peers.size(); ++m) {
      if (s_.peers[m].live) return m;
    }
    return std::nullopt;
  }

  // While it measures, the others compute the next step: the first of those with the fewest ranks.
  [[nodiscard]] std::optional<Member> least_busy() const {
    std::optional<Member> best;
    Rank fewest = 0;
    for (std::size_t slot = 0; slot < s_.view.members.size(); ++slot) {
      const Member member = s_.view.members[slot];
      const Rank ranks = s_.view.ranges[slot].count;
      if (!s_.peers[member].live || (best && ranks >= fewest)) continue;
      best = member;
      fewest = ranks;
    }
    return best;
  }

  void commit_if_all_ready() {
    if (s_.phase != Phase::running || s_.evaluating || s_.step >= s_.steps()) return;
    for (const Member m : s_.view.members) {
      if (!s_.peers[m].ready) return;
    }
    report_step();
    const std::uint64_t committed = s_.step++;
    s_.reports.clear();
    const bool newcomers =
        s_.step < s_.steps() && std::any_of(s_.peers.begin(), s_.peers.end(),
                                            [](const auto& p) { return p.up && !p.live; });
    order_faults();
    for (const Member m : s_.view.members) {
      s_.peers[m].ready = false;
      out_.push_back(effect::SendCommit{m, s_.view.generation, committed, newcomers});
    }
    if (s_.step % s_.terms->steps_per_epoch == 0) {
      s_.evaluating = committed / s_.terms->steps_per_epoch;
    }
    if (newcomers) return form(newcomer_names() + " joined");
    conclude();
  }

  void report_step() {
    double loss = 0;
    std::uint64_t correct = 0;
    std::uint64_t counted = 0;
    for (const auto& [rank, report] : s_.reports) {  // in rank order, so that the sum is one number
      loss += report.loss;
      correct += report.correct;
      counted += report.counted;
    }
    loss /= s_.plan.ranks;
    const std::uint64_t place = s_.step % s_.terms->steps_per_epoch;
    if (place == 0) s_.epoch_losses.clear();
    s_.epoch_losses[place] = loss;
    if (s_.step < s_.highest) return;
    s_.highest = s_.step + 1;
    out_.push_back(effect::ReportStep{s_.highest, loss, ratio(correct, counted)});
  }

  [[nodiscard]] std::string newcomer_names() const {
    std::string names;
    for (Member m = 0; m < s_.peers.size(); ++m) {
      if (!s_.peers[m].up || s_.peers[m].live) continue;
      names += (names.empty() ? "" : ", ") + name(m);
    }
    return names;
  }

  // Goes out before the message that starts s_.step, so that the victim knows in time.
  void order_faults() {
    if (s_.step >= s_.steps()) return;
    std::erase_if(s_.plan.faults, [&](const Fault& fault) {
      if (fault.step > s_.step || !s_.view.slot_of(fault.trainer)) return false;
      Fault order = fault;
      order.step = s_.step;
      out_.push_back(effect::SendFault{fault.trainer, order});
      return true;
    });
  }

  JobState& s_;
  Seconds now_;
  JobEffects out_;
  std::string last_words_;  // why the member ended that this is about
};

Member member_of(const JobInput& input) {
  return std::visit([](const auto& in) { return in.member; }, input);
}

}  // namespace

JobEffects step(JobState& state, const JobInput& input, Seconds now) {
  if (state.phase == Phase::done || state.phase == Phase::failed) return {};
  const Member member = member_of(input);
  if (member >= state.peers.size()) {
    return {effect::Reject{
        {ErrorCode::invalid_argument,
         "there is no " + name(member) + " in a group of " + std::to_string(state.peers.size())}}};
  }
  Decision decision(state, now);
  std::visit([&](const auto& in) { decision.on(in); }, input);
  return decision.take();
}

std::string waiting_for(const JobState& state) {
  if (state.phase == Phase::done) return "nothing: the job is done";
  if (state.phase == Phase::failed) return "nothing: the job has failed";
  std::string who;
  const auto add = [&](Member m) { who += (who.empty() ? "" : ", ") + name(m); };
  if (state.phase == Phase::gathering) {
    for (Member m = 0; m < state.peers.size(); ++m) {
      if (!state.peers[m].up && state.peers[m].comes_back) add(m);
    }
    if (!who.empty()) return who + " to come up";
    for (Member m = 0; m < state.peers.size(); ++m) {
      if (state.peers[m].asked_held) add(m);
    }
    return who + " to say which step's state it has";
  }
  if (state.evaluator) return name(*state.evaluator) + " to measure the test accuracy";
  if (state.step == state.steps()) {
    for (Member m = 0; m < state.peers.size(); ++m) {
      if (state.peers[m].live && !state.peers[m].hashed) add(m);
    }
    return who + " to tell the hash of its parameters";
  }
  for (const Member m : state.view.members) {
    if (!state.peers[m].ready) add(m);
  }
  return who + " in step " + std::to_string(state.step);
}

}  // namespace troupe::easyscale
