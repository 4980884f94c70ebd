// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gpu/easyscale/job/simulation.hpp"

#include "gpu/easyscale/job/sampler.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace troupe::easyscale::test {
namespace {

std::uint64_t digest(const Trainee& trainee) {
  std::uint64_t sum = 1;
  for (const std::byte byte : trainee.save()) sum = random_at(sum, std::to_integer<int>(byte));
  return sum;
}

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};

}  // namespace

Simulation::Simulation(Scenario scenario)
    : scenario_(std::move(scenario)),
      random_(scenario_.seed),
      slots_fd_(::memfd_create("simulation", MFD_CLOEXEC)),
      slots_(slots_fd_) {
  add_coordinator(1);
}

Simulation::~Simulation() { ::close(slots_fd_); }

void Simulation::trouble(const std::string& what) {
  found_.trouble += (found_.trouble.empty() ? "" : "; ") + what;
}

Finding Simulation::run() {
  for (Member member = 0; member < scenario_.count; ++member) start(member);
  for (int i = 0; i < 200000 && !ended_ && deliver_one(); ++i) {
  }
  if (!ended_) trouble("stands still, waiting for " + waiting_for(coordinators_.begin()->second));
  std::map<std::uint64_t, std::uint64_t> times;
  for (const auto& [what, count] : computed_) {
    times[what.first] = std::max(times[what.first], count);
  }
  for (const auto& [step, count] : times) found_.work_redone += count - 1;
  return found_;
}

void Simulation::start(Member member) {
  const Pid pid = next_pid_++;
  const int number = ++starts_[member];
  if (!scenario_.comes_up(member, number)) {
    const bool again = scenario_.comes_back(member, number);
    return send(pid, coordinator(), JobInput(input::Left{member, "could not be started", again}));
  }
  Process process{pid, member, coordinator(), nullptr, scenario_.trainee(member)};
  std::optional<std::uint64_t> resume;
  if (const auto saved = slots_.latest(); saved && saved->has_value()) {
    process.trainee->load((*saved)->state);
    resume = (*saved)->step;
  }
  const std::size_t gradient = process.trainee->gradient_length();
  const std::size_t buffers = process.trainee->buffer_bytes();
  const std::size_t context = process.trainee->context_bytes();
  process.state =
      std::make_unique<MemberState>(member,
                                    ExchangeShape{scenario_.ranks, scenario_.count, gradient,
                                                  buffers, context, scenario_.reducer},
                                    scenario_.steps_per_epoch * scenario_.epochs, resume);
  say_hello(processes_.emplace(pid, std::move(process)).first->second);
}

void Simulation::say_hello(const Process& process) {
  const Hello hello{scenario_.steps_per_epoch,
                    process.trainee->gradient_length(),
                    process.trainee->buffer_bytes(),
                    process.trainee->context_bytes(),
                    "cpu",
                    process.state->held()};
  send(process.pid, process.coordinator, JobInput(input::Joined{process.member, hello}));
}

void Simulation::add_coordinator(Term term) {
  JobPlan plan{scenario_.count, scenario_.ranks, scenario_.epochs, scenario_.faults, term};
  coordinators_.emplace(-static_cast<Pid>(term), JobState(std::move(plan)));
}

void Simulation::replace_coordinator(bool dies) {
  const Pid before = coordinator();
  if (dies) coordinators_.erase(before);
  std::set<Member> ended;  // and nobody has been told
  for (auto& [ends, wire] : wires_) {
    if (ends.second == before) {
      for (const Message& message : wire) {
        const auto* input = std::get_if<JobInput>(&message);
        if (input == nullptr) continue;
        const auto* left = std::get_if<input::Left>(input);
        if (left == nullptr) continue;
        ended.insert(left->member);
        if (!left->comes_back) gone_.insert(left->member);
      }
      wire.clear();
    }
    if (dies && ends.first == before) wire.resize(random_() % (wire.size() + 1));
  }
  scenario_.faults.clear();
  add_coordinator(static_cast<Term>(++found_.coordinators));
  for (const auto& [pid, process] : processes_) send(coordinator(), pid, Attach{});
  for (const Member member : gone_) {
    coordinate(coordinator(), input::Left{member, "is gone", false});
  }
  for (const Member member : ended) {
    if (!gone_.contains(member)) start(member);
  }
}

bool Simulation::obeys(Process& process, Pid from, const Message& message) {
  if (from > 0) return true;  // a trainer
  if (from < process.coordinator && std::holds_alternative<Attach>(message)) {
    process.coordinator = from;
    process.state->on_new_coordinator();
    say_hello(process);
    return false;
  }
  return from == process.coordinator;
}

void Simulation::die(Process& process, const std::string& why) {
  ++found_.kills;
  const Pid pid = process.pid;
  const Member member = process.member;
  for (auto& [ends, wire] : wires_) {
    if (ends.second == pid) wire.clear();
    if (ends.first != pid || wire.empty()) continue;
    wire.resize(random_() % (wire.size() + 1));  // the tail never left the dead process
  }
  const bool again = scenario_.comes_back(member, starts_[member]);
  send(pid, coordinator(), JobInput(input::Left{member, why, again}));
  processes_.erase(pid);
}

bool Simulation::deliver_one() {
  std::erase_if(wires_, [](const auto& wire) { return wire.second.empty(); });
  if (wires_.empty()) return false;
  auto at = wires_.begin();
  std::advance(at, random_() % wires_.size());
  const auto [from, to] = at->first;
  if (to < 0) {
    using Fate = Scenario::Fate;
    const Fate fate =
        scenario_.coordinator ? scenario_.coordinator(heard_++, random_) : Fate::lives;
    if (fate != Fate::lives) {
      replace_coordinator(fate == Fate::dies);
      return true;
    }
  }
  Message message = std::move(at->second.front());
  at->second.erase(at->second.begin());
  if (to < 0) {
    if (!coordinators_.contains(to)) return true;
    const JobInput input = std::get<JobInput>(message);
    const auto* left = std::get_if<input::Left>(&input);
    if (left != nullptr && !left->comes_back) gone_.insert(left->member);
    coordinate(to, input);
    if (left != nullptr && left->comes_back && !ended_) start(left->member);
  } else if (const auto process = processes_.find(to); process != processes_.end()) {
    if (obeys(process->second, from, message)) deliver(process->second, std::move(message));
  }
  return true;
}

void Simulation::coordinate(Pid who, const JobInput& input) {
  carry_out(who, step(coordinators_.at(who), input, Seconds(0)));
}

Simulation::Process* Simulation::at(Member member) {
  // The newest process of a member is the one that its supervisor knows.
  for (auto it = processes_.rbegin(); it != processes_.rend(); ++it) {
    if (it->second.member == member) return &it->second;
  }
  return nullptr;
}

void Simulation::carry_out(Pid who, const JobEffects& effects) {
  const auto to = [&](Member member, Message message) {
    if (Process* process = at(member)) send(who, process->pid, std::move(message));
  };
  for (const JobEffect& one : effects) {
    std::visit(Match{[&](const effect::SendFault& e) { to(e.to, e.fault); },
                     [&](const effect::SendCommit& e) {
                       if (committed_.emplace(e.generation, e.step).second) {
                         ++found_.commits[e.step];
                       }
                       to(e.to, e);
                     },
                     [&](const effect::SendView& e) { to(e.to, e.view); },
                     [&](const effect::AskEvaluate& e) { to(e.to, AskEvaluate{e.epoch}); },
                     [&](const effect::AskHash& e) { to(e.to, AskHash{}); },
                     [&](const effect::AskHeld& e) { to(e.to, AskHeld{e.generation}); },
                     [&](const effect::ReportView&) {},
                     [&](const effect::ReportStep& e) { found_.steps.push_back(e); },
                     [&](const effect::ReportEpoch& e) { found_.epochs.push_back(e); },
                     [&](const effect::Finish& e) {
                       if (who != coordinator()) return;
                       ended_ = true;
                       found_.finished = true;
                       found_.sha256 = e.state_sha256;
                       found_.test_accuracy = e.test_accuracy;
                       found_.redone = e.redone;
                     },
                     [&](const effect::Fail& e) {
                       if (who != coordinator()) return;  // it has nothing to say any more
                       ended_ = true;
                       found_.all_gone = gone_.size() == scenario_.count;
                       trouble(e.error.what);
                     },
                     [&](const effect::Reject& e) { trouble(e.error.what); }},
               one);
  }
}

void Simulation::deliver(Process& process, Message message) {
  MemberState& state = *process.state;
  const Pid pid = process.pid;
  std::visit(
      Match{[&](Attach&) {},
            [&](View& view) { carry_out(process, state.on_view(std::move(view))); },
            [&](effect::SendCommit& commit) {
              carry_out(process,
                        state.on_commit(commit.generation, commit.step, commit.view_follows));
            },
            [&](Fault& fault) { state.on_fault(fault); },
            [&](State& got) {
              carry_out(process, state.on_state(got.generation, got.step, got.bytes));
            },
            [&](Piece& piece) { carry_out(process, state.on_piece(std::move(piece))); },
            [&](act::GoOn& go) { carry_out(process, state.go_on(go.ticket)); },
            [&](AskEvaluate& ask) {
              const auto sum = digest(*process.trainee);
              send(pid, process.coordinator,
                   JobInput(input::Evaluated{process.member, ask.epoch, sum % 997, 997,
                                             static_cast<double>(sum % 31)}));
            },
            [&](AskHeld& ask) { carry_out(process, state.on_ask_held(ask.generation)); },
            [&](AskHash&) {
              const std::string hash = std::to_string(digest(*process.trainee));
              send(pid, process.coordinator, JobInput(input::Hashed{process.member, hash, hash}));
            },
            [&](JobInput&) { trouble("a coordinator's message went to a member"); }},
      message);
}

void Simulation::carry_out(Process& process, MemberActs acts) {
  const Pid pid = process.pid;
  for (MemberAct& one : acts) {
    const std::uint64_t number = found_.acts++;
    if (scenario_.kill && scenario_.kill(number, random_)) return die(process, "killed");
    if (std::holds_alternative<act::Die>(one)) return die(process, "fault");
    std::visit(
        Match{[&](act::RunRank& a) { compute(process, a); },
              [&](act::GoOn& a) { send(pid, pid, a); },
              [&](act::SendPiece& a) {
                if (Process* peer = at(a.to)) send(pid, peer->pid, std::move(a.piece));
              },
              [&](act::SendState& a) {
                State state{a.generation, a.step, Slice::own(process.trainee->save())};
                if (Process* peer = at(a.to)) send(pid, peer->pid, std::move(state));
              },
              [&](act::LoadState& a) { process.trainee->load(a.bytes.bytes()); },
              [&](act::LookForSaved& a) { look_for_saved(process, a); },
              [&](act::Apply& a) { process.trainee->apply(a); },
              [&](act::Save& a) {
                if (auto ok = slots_.save(a.step, process.trainee->save()); !ok)
                  trouble(ok.error().what);
              },
              [&](act::SayReady& a) {
                input::Ready ready{process.member, a.generation, a.step, std::move(a.ranks)};
                send(pid, process.coordinator, JobInput(std::move(ready)));
              },
              [&](act::SayHolds& a) {
                send(pid, process.coordinator,
                     JobInput(input::Holds{process.member, a.generation, a.step}));
              },
              [&](act::Die&) {}, [&](act::Reject& a) { trouble("rejected: " + a.error.what); },
              [&](act::GiveUp& a) { trouble("gave up: " + a.error.what); }},
        one);
    if (!processes_.contains(pid)) return;  // a nested act was its last
  }
}

void Simulation::look_for_saved(Process& process, const act::LookForSaved& what) {
  std::optional<std::uint64_t> loaded;
  const auto saved = slots_.latest();
  if (saved && saved->has_value() && (!what.than || (*saved)->step > *what.than)) {
    process.trainee->load((*saved)->state);
    loaded = (*saved)->step;
  }
  carry_out(process, process.state->looked(what.generation, loaded));
}

void Simulation::compute(Process& process, const act::RunRank& what) {
  ++computed_[{what.step, what.rank}];
  Trainee::Computed out = process.trainee->compute(what.rank, what.step);
  carry_out(process, process.state->rank_done(out.report, out.gradient, std::move(out.buffers),
                                              out.context));
}

}  // namespace troupe::easyscale::test
