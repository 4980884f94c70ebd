// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/back_off.hpp"
#include "actors/core/supervise/restart_budget.hpp"
#include "messages/result.hpp"
#include "messages/units.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// What a supervisor does when a child ends. The words and their order are those of msg::Restart.
enum class Restart { permanent, transient, temporary };

/// Who else is started again with a child that ended. As msg::Strategy.
enum class Strategy {
  one_for_one,   ///< nobody
  one_for_all,   ///< all children
  rest_for_one,  ///< the children that come after it in the order of starting
};

/// How a child is stopped.
struct Shutdown {
  /// How long it may take when it is asked to; zero: it is killed without being asked (brutal);
  /// nothing: as long as it likes (infinity).
  std::optional<Millis> limit = Millis(3000);

  [[nodiscard]] static Shutdown brutal() { return {Millis(0)}; }
  [[nodiscard]] static Shutdown infinity() { return {std::nullopt}; }
  friend bool operator==(const Shutdown&, const Shutdown&) = default;
};

namespace supervise {

using Time = std::chrono::steady_clock::time_point;

struct ChildRules {
  std::string path;
  Restart restart = Restart::permanent;
  Shutdown shutdown;
  BackOff back_off;
};

struct Rules {
  std::string path;
  Strategy strategy = Strategy::one_for_one;
  RestartBudget budget{5, std::chrono::seconds(60)};
  std::uint64_t seed = 1;  ///< of the back-off's jitter
  std::vector<ChildRules> children;
};

// What happens to a supervisor. `life` tells the lives of one child apart: the number that came
// with Start; news of any other life are ignored.
struct Begin {};
struct Came {
  std::size_t child = 0;
  std::uint64_t life = 0;
};
/// Nothing is left of that life; or it never came to live.
struct Ended {
  std::size_t child = 0;
  std::uint64_t life = 0;
  Error why;
  bool normal = false;
  /// What it was lost with, such as a node: all that were lost with one spend one restart.
  std::string lost_with;
};
struct Stop {};
struct Tick {};  ///< the time of wake() has come
using News = std::variant<Begin, Came, Ended, Stop, Tick>;

// What it does about that.
struct Start {
  std::size_t child = 0;
  std::uint64_t life = 0;
};
/// Ask this life to end; comes again when the life comes up only now.
struct Ask {
  std::size_t child = 0;
  Error why;  ///< what others are told; with an empty text: its own reason
};
/// End this life without asking; Ended must follow.
struct Kill {
  std::size_t child = 0;
  Error why;  ///< as above
};
/// The child will be started, but not before `delay` is over.
struct Wait {
  std::size_t child = 0;
  Millis delay{0};
};
/// No child lives any more, and none will.
struct Finish {
  std::optional<Error> error;  ///< it gave up
};
using Effect = std::variant<Start, Ask, Kill, Wait, Finish>;
using Effects = std::vector<Effect>;

/// The decisions of a supervisor, with the semantics of Erlang/OTP's: children start in order and
/// stop in reverse order, each waited for before the next is asked; one restart is spent for each
/// child that ended and comes back, whatever is restarted with it. It differs in two points: a
/// child is not waited for when it starts, and a supervisor none of whose children lives or comes
/// back ends normally. A value; its user calls step() with everything that happens and carries the
/// effects out in their order.
class State {
 public:
  explicit State(Rules rules);

  [[nodiscard]] Effects step(const News& news, Time now);

  /// When it wants a Tick.
  [[nodiscard]] std::optional<Time> wake() const;
  /// Would a child that ends now be started again, here or by the supervisor above?
  [[nodiscard]] bool comes_back(std::size_t child, bool normal) const;
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] bool finished() const { return finished_; }

 private:
  enum class Phase { down, due, starting, up, stopping, killed };
  struct Child {
    Phase phase = Phase::down;
    std::uint64_t life = 0;
    std::uint32_t ended_before = 0;  ///< ends without a calm life in between
    Time up_since{};
    Time due{};
    std::optional<Time> kill_at;
  };
  /// Children from `first` on are stopped, and started again together.
  struct Again {
    std::size_t first = 0;
    Time at{};
    Error why;
  };

  [[nodiscard]] static bool lives(const Child& child);
  [[nodiscard]] Child* current(std::size_t child, std::uint64_t life);
  void on(const Begin&, Time now);
  void on(const Came& news, Time now);
  void on(const Ended& news, Time now);
  void on(const Stop&, Time now);
  void on(const Tick&, Time now);
  void start(std::size_t child);
  void restart(const Ended& news, Time now);
  void restart_with_others(std::size_t child, Time at, const Error& why, Time now);
  void give_up(const Ended& news, Time now);
  void stop_all(Time now);
  void stop_next(Time now);
  void ask(std::size_t child, Time now);
  void kill(std::size_t child, const std::string& why);
  void start_again(Time now);
  void finish_if_none_left();
  [[nodiscard]] bool may_restart(const std::string& lost_with, Time now);

  Rules rules_;
  std::vector<Child> children_;
  std::optional<Again> again_;
  std::deque<std::pair<std::string, Time>> lost_;  ///< what was paid for lately
  bool stopping_ = false;
  bool finished_ = false;
  std::optional<Error> error_;
  Effects effects_;
};

}  // namespace supervise
}  // namespace troupe
