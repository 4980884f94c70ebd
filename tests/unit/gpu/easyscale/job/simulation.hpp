// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/job_state.hpp"
#include "gpu/easyscale/job/member_state.hpp"
#include "gpu/easyscale/job/step_slots.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::easyscale::test {

/// What a simulated trainer trains.
class Trainee {
 public:
  Trainee() = default;
  Trainee(const Trainee&) = delete;
  Trainee& operator=(const Trainee&) = delete;
  virtual ~Trainee() = default;

  struct Computed {
    RankReport report;
    std::vector<float> gradient;
    std::optional<Slice> buffers;
    std::vector<std::byte> context;
  };
  [[nodiscard]] virtual std::size_t gradient_length() const = 0;
  [[nodiscard]] virtual std::size_t buffer_bytes() const = 0;
  [[nodiscard]] virtual std::size_t context_bytes() const = 0;
  virtual Computed compute(Rank rank, std::uint64_t step) = 0;
  virtual void apply(const act::Apply& what) = 0;
  [[nodiscard]] virtual std::vector<std::byte> save() const = 0;
  virtual void load(std::span<const std::byte> state) = 0;
};

/// A few numbers with gradients of very different magnitudes; each member makes up others at first.
[[nodiscard]] std::unique_ptr<Trainee> make_fake_trainee(Member member);

struct Scenario {
  std::uint32_t count = 3;
  Rank ranks = 4;
  std::uint64_t steps_per_epoch = 3;
  std::uint64_t epochs = 2;
  unsigned seed = 1;
  Reducer reducer = Reducer::tree;
  std::vector<Fault> faults;
  std::function<std::unique_ptr<Trainee>(Member)> trainee = make_fake_trainee;
  /// Whether the member that is about to do its n-th act (over all members) dies instead.
  std::function<bool(std::uint64_t act, std::mt19937& random)> kill;
  /// Whether the coordinator that is about to take its n-th message (over all of them) dies, or
  /// only loses the job to another one and goes on as if it had not.
  enum class Fate { lives, dies, is_replaced };
  std::function<Fate(std::uint64_t message, std::mt19937& random)> coordinator;
  /// How its n-th start and its end (true) or failure to come up (false) go.
  std::function<bool(Member member, int start)> comes_up = [](Member, int) { return true; };
  std::function<bool(Member member, int start)> comes_back = [](Member, int) { return true; };
};

struct Finding {
  bool finished = false;
  std::string trouble;  ///< why it did not finish, or what went wrong on the way
  std::string sha256;
  double test_accuracy = 0;
  std::uint64_t acts = 0;
  std::uint64_t kills = 0;
  std::uint64_t coordinators = 1;
  std::uint64_t redone = 0;  ///< as the coordinator counts
  std::uint64_t work_redone =
      0;                  ///< steps of which some rank was computed more than once, each time
  bool all_gone = false;  ///< nobody lives, and nobody will be started again
  std::vector<effect::ReportStep> steps;
  std::vector<effect::ReportEpoch> epochs;
  std::map<std::uint64_t, int> commits;  ///< how often each step was committed
};

/// A whole training job without network, clock and processes: the real coordinator and member state
/// machines, any trainee, wires that keep the order of each pair of processes and nothing else,
/// deaths at any point, restarts, and the real saved states in a memory file.
class Simulation {
 public:
  explicit Simulation(Scenario scenario);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  Finding run();

 private:
  using Pid = int;  // of a coordinator: its term, negative
  struct Attach {};
  struct AskEvaluate {
    std::uint64_t epoch = 0;
  };
  struct AskHash {};
  struct AskHeld {
    std::uint64_t generation = 0;
  };
  struct State {
    std::uint64_t generation = 0;
    std::uint64_t step = 0;
    Slice bytes;
  };
  using Message = std::variant<JobInput, Attach, View, effect::SendCommit, Fault, State, Piece,
                               act::GoOn, AskEvaluate, AskHash, AskHeld>;
  struct Process {
    Pid pid = 0;
    Member member = 0;
    Pid coordinator = 0;
    std::unique_ptr<MemberState> state;
    std::unique_ptr<Trainee> trainee;
  };

  void start(Member member);
  void add_coordinator(Term term);
  void replace_coordinator(bool dies);
  [[nodiscard]] Pid coordinator() const { return coordinators_.begin()->first; }  // highest term
  [[nodiscard]] bool obeys(Process& process, Pid from, const Message& message);
  void say_hello(const Process& process);
  void die(Process& process, const std::string& why);
  void send(Pid from, Pid to, Message message) { wires_[{from, to}].push_back(std::move(message)); }
  bool deliver_one();
  void coordinate(Pid who, const JobInput& input);
  void carry_out(Pid who, const JobEffects& effects);
  void deliver(Process& process, Message message);
  void carry_out(Process& process, MemberActs acts);
  void look_for_saved(Process& process, const act::LookForSaved& what);
  void compute(Process& process, const act::RunRank& what);
  [[nodiscard]] Process* at(Member member);
  void trouble(const std::string& what);

  Scenario scenario_;
  std::mt19937 random_;
  std::map<Pid, JobState> coordinators_;  ///< those that act: the last one by right
  int slots_fd_;
  StepSlots slots_;
  Pid next_pid_ = 1;
  std::map<Pid, Process> processes_;
  std::map<std::pair<Pid, Pid>, std::vector<Message>> wires_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> committed_;  // generation, step
  Finding found_;
  std::map<std::pair<std::uint64_t, Rank>, std::uint64_t> computed_;  // step, rank
  std::map<Member, int> starts_;
  std::set<Member> gone_;  // not started again
  bool ended_ = false;
  std::uint64_t heard_ = 0;  ///< messages to coordinators
};

}  // namespace troupe::easyscale::test
