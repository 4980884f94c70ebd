// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/job/faults.hpp"
#include "gpu/easyscale/job/view.hpp"
#include "messages/result.hpp"
#include "messages/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace troupe::easyscale {

/// What a trainer says of itself when it comes up. All up to `fingerprint` must be equal among
/// trainers.
struct Hello {
  std::uint64_t steps_per_epoch = 0;
  std::uint64_t gradient = 0;           ///< elements of the flat gradient
  std::uint64_t buffers = 0;            ///< bytes of the model's buffers
  std::uint64_t context = 0;            ///< bytes that each rank keeps for its next step
  std::string fingerprint;              ///< libraries and CPU features that change bits
  std::optional<std::uint64_t> resume;  ///< the step of a saved state that it has found
  std::string model;                    ///< what it consists of, for people
  std::string costs;                    ///< of each level of determinism, for people
};

/// What one rank's forward and backward pass gave.
struct RankReport {
  Rank rank = 0;
  double loss = 0;
  std::uint32_t correct = 0;  ///< answers, of
  std::uint32_t counted = 0;

  friend bool operator==(const RankReport&, const RankReport&) = default;
};

namespace input {
struct Joined {
  Member member = 0;
  Hello hello;
};
struct Left {  ///< a member has ended, perhaps before it had joined
  Member member = 0;
  std::string why;
  bool comes_back = true;  ///< false: its supervisor will not start it again
};
struct Holds {  ///< which step's state a joiner has now: after adopting one, or because it was
                ///< asked
  Member member = 0;
  std::uint64_t generation = 0;  ///< of the view that it has adopted it in, or was asked after
  std::optional<std::uint64_t> step;
};
struct Ready {  ///< a member has the whole gradient of a step and waits for the commit
  Member member = 0;
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  std::vector<RankReport> ranks;
};
struct Evaluated {
  Member member = 0;
  std::uint64_t epoch = 0;
  std::uint64_t correct = 0;  ///< answers on the test set, of
  std::uint64_t counted = 0;
  double loss = 0;  ///< mean over them
};
struct Hashed {
  Member member = 0;
  std::string params_sha256;  ///< see Replica::parameter_bytes
  std::string state_sha256;   ///< of all that Replica::save gives
};
struct Failed {  ///< a member met something that starting it again would not cure
  Member member = 0;
  Error error;
};
}  // namespace input

using JobInput = std::variant<input::Joined, input::Left, input::Holds, input::Ready,
                              input::Evaluated, input::Hashed, input::Failed>;

namespace effect {
struct SendFault {
  Member to = 0;
  Fault fault;
};
struct SendCommit {
  Member to = 0;
  std::uint64_t generation = 0;
  std::uint64_t step = 0;
  bool view_follows = false;  ///< the next step is not begun before the next view is there
};
struct SendView {
  Member to = 0;
  View view;
};
struct AskEvaluate {
  Member to = 0;
  std::uint64_t epoch = 0;
};
struct AskHash {
  Member to = 0;
};
struct AskHeld {  ///< look for a newer saved state, and answer by Holds; no state is adopted
                  ///< between the answer and the next view
  Member to = 0;
  std::uint64_t generation = 0;
};
struct ReportView {
  View view;
  bool first = false;  ///< of the job: no coordinator before this one had any
  std::string why;
};
struct ReportStep {
  std::uint64_t step = 0;  ///< how many are done: 1 after the first
  double loss = 0;         ///< mean over ranks
  double accuracy = 0;
};
struct ReportEpoch {
  std::uint64_t epoch = 0;  ///< how many are done
  /// Mean over its steps; nothing where they were another coordinator's.
  std::optional<double> loss;
  double test_accuracy = 0;
  double test_loss = 0;
};
struct Finish {
  std::string params_sha256;
  std::string state_sha256;
  double test_accuracy = 0;
  double test_loss = 0;
  std::uint64_t steps = 0;
  /// Steps whose work was thrown away because a member died: at most one for each death.
  std::uint64_t redone = 0;
  Seconds wall{0};
};
struct Fail {
  Error error;
};
struct Reject {  ///< an input that makes no sense; it changed nothing
  Error error;
};
}  // namespace effect

using JobEffect =
    std::variant<effect::SendFault, effect::SendCommit, effect::SendView, effect::AskEvaluate,
                 effect::AskHash, effect::AskHeld, effect::ReportView, effect::ReportStep,
                 effect::ReportEpoch, effect::Finish, effect::Fail, effect::Reject>;
using JobEffects = std::vector<JobEffect>;

struct JobPlan {
  std::uint32_t count = 1;  ///< members that the graph asks for
  Rank ranks = 1;
  std::uint64_t epochs = 1;
  std::vector<Fault> faults;
  Term term = 1;
};

/// All that the coordinator of a training job knows. A value; owned by the coordinator actor. One
/// that takes over from another (its term is above 1) learns from the members how far they are.
struct JobState {
  struct Peer {
    bool up = false;
    bool live = false;  ///< has the state of `step` in memory, once it has read our messages
    bool comes_back = true;
    std::optional<std::uint64_t> held;  ///< while not live: the step whose state it has
    /// Of `held`: not while a donor's state is on its way, nor where a newer one may have been
    /// saved since it looked.
    bool sure = true;
    bool in_view = false;
    bool asked_held = false;
    bool ready = false;  ///< for `step` in the current view
    bool asked_hash = false;
    std::optional<input::Hashed> hashed;
  };
  enum class Phase : std::uint8_t { gathering, running, done, failed };

  explicit JobState(JobPlan plan) : plan(std::move(plan)), peers(this->plan.count) {
    view.generation = first_generation(this->plan.term);
  }

  JobPlan plan;
  Phase phase = Phase::gathering;
  std::vector<Peer> peers;
  std::optional<Hello> terms;  ///< what the first trainer said; all others must say the same
  View view;
  bool begun = false;
  std::uint64_t deaths = 0;   ///< of members of `view` since it was made
  std::uint64_t step = 0;     ///< the next one to commit
  std::uint64_t highest = 0;  ///< steps committed at least once
  std::uint64_t redone = 0;
  std::map<Rank, RankReport> reports;
  std::map<std::uint64_t, double> epoch_losses;  // by step within the epoch, as far as known
  std::optional<std::uint64_t> evaluating;       ///< an epoch whose accuracy is not known yet
  std::optional<Member> evaluator;
  std::uint64_t epochs_reported = 0;
  double test_accuracy = 0;
  double test_loss = 0;
  std::optional<Seconds> began;

  [[nodiscard]] std::uint64_t steps() const {
    return terms ? terms->steps_per_epoch * plan.epochs : 0;
  }
};

/// Takes one input in and says what to do, in this order. Effects that go to one member must reach
/// it in their order. `now` is time since any fixed moment.
[[nodiscard]] JobEffects step(JobState& state, const JobInput& input, Seconds now);

/// One sentence on what the job waits for, for whoever wonders why nothing moves.
[[nodiscard]] std::string waiting_for(const JobState& state);

}  // namespace troupe::easyscale
