// SPDX-License-Identifier: Apache-2.0
//
// Stopping is one walk from the last child to the first (stop_next): the last one that lives is
// asked, and the walk goes on when it has ended. The walk reaches down to the first child when the
// supervisor stops, and to `again_->first` when children are restarted together; at its end comes
// Finish, or the start of all that it has passed.
#include "actors/core/supervise/supervisor_state.hpp"

#include <algorithm>

namespace troupe::supervise {
namespace {

constexpr auto remember_lost = std::chrono::seconds(60);

std::string shown(Millis limit) {
  return limit.count() % 1000 == 0 ? std::to_string(limit.count() / 1000) + " s"
                                   : std::to_string(limit.count()) + " ms";
}

}  // namespace

State::State(Rules rules) : rules_(std::move(rules)), children_(rules_.children.size()) {}

Effects State::step(const News& news, Time now) {
  if (!finished_) std::visit([&](const auto& one) { on(one, now); }, news);
  return std::exchange(effects_, {});
}

std::optional<Time> State::wake() const {
  std::optional<Time> first;
  const auto at = [&](Time time) { first = first ? std::min(*first, time) : time; };
  for (const auto& child : children_) {
    if (child.phase == Phase::due) at(child.due);
    if (child.kill_at) at(*child.kill_at);
  }
  if (again_ && !stopping_ &&
      std::none_of(children_.begin() + static_cast<long>(again_->first), children_.end(), lives)) {
    at(again_->at);
  }
  return first;
}

bool State::comes_back(std::size_t child, bool normal) const {
  const auto restart = rules_.children[child].restart;
  if (restart == Restart::temporary) return false;
  if (stopping_) return error_.has_value();  // by the supervisor above, or the job ends anyway
  if (again_ && child >= again_->first) return true;
  return !(restart == Restart::transient && normal);
}

bool State::lives(const Child& child) {
  return child.phase != Phase::down && child.phase != Phase::due;
}

State::Child* State::current(std::size_t child, std::uint64_t life) {
  if (child >= children_.size()) return nullptr;
  auto& it = children_[child];
  return it.life == life && lives(it) ? &it : nullptr;
}

void State::on(const Begin&, Time) {
  for (std::size_t i = 0; i < children_.size(); ++i) start(i);
  finish_if_none_left();
}

void State::on(const Came& news, Time now) {
  auto* child = current(news.child, news.life);
  if (child == nullptr) return;
  if (child->phase == Phase::starting) {
    child->phase = Phase::up;
    child->up_since = now;
  } else if (child->phase == Phase::stopping) {
    effects_.emplace_back(Ask{news.child, {}});
  } else if (child->phase == Phase::killed) {
    effects_.emplace_back(Kill{news.child, {}});
  }
}

void State::on(const Ended& news, Time now) {
  auto* child = current(news.child, news.life);
  if (child == nullptr) return;
  const bool was_calm = child->phase == Phase::up &&
                        now - child->up_since >= rules_.children[news.child].back_off.calm;
  const bool back = comes_back(news.child, news.normal);
  child->phase = Phase::down;
  child->kill_at.reset();
  if (was_calm) child->ended_before = 0;
  if (stopping_ || (again_ && news.child >= again_->first)) return stop_next(now);
  if (back) return restart(news, now);
  finish_if_none_left();
}

void State::on(const Stop&, Time now) {
  if (!stopping_) stop_all(now);
}

void State::on(const Tick&, Time now) {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    auto& child = children_[i];
    if (child.kill_at && now >= *child.kill_at) {
      kill(i, "it did not stop within " + shown(*rules_.children[i].shutdown.limit));
    }
    if (child.phase == Phase::due && now >= child.due) start(i);
  }
  if (again_ && !stopping_) stop_next(now);
}

void State::start(std::size_t index) {
  auto& child = children_[index];
  child.phase = Phase::starting;
  effects_.emplace_back(Start{index, ++child.life});
}

bool State::may_restart(const std::string& lost_with, Time now) {
  while (!lost_.empty() && now - lost_.front().second > remember_lost) lost_.pop_front();
  const bool paid = std::any_of(lost_.begin(), lost_.end(),
                                [&](const auto& entry) { return entry.first == lost_with; });
  if (paid) return true;
  if (!lost_with.empty()) lost_.emplace_back(lost_with, now);
  return rules_.budget.spend(now);
}

void State::restart(const Ended& news, Time now) {
  if (!may_restart(news.lost_with, now)) return give_up(news, now);
  auto& child = children_[news.child];
  const auto delay = rules_.children[news.child].back_off.delay(
      child.ended_before++, rules_.seed + (static_cast<std::uint64_t>(news.child) << 32));
  if (delay > Millis(0)) effects_.emplace_back(Wait{news.child, delay});
  if (rules_.strategy != Strategy::one_for_one) {
    return restart_with_others(news.child, now + delay, news.why, now);
  }
  if (delay == Millis(0)) return start(news.child);
  child.phase = Phase::due;
  child.due = now + delay;
}

void State::restart_with_others(std::size_t child, Time at, const Error& why, Time now) {
  const auto first = rules_.strategy == Strategy::one_for_all ? 0 : child;
  const Error told{why.code, "stopped to start again with " + rules_.children[child].path +
                                 ", which ended: " + why.what};
  if (!again_) again_ = Again{first, at, told};
  again_->first = std::min(again_->first, first);
  again_->at = std::max(again_->at, at);
  stop_next(now);
}

void State::give_up(const Ended& news, Time now) {
  error_ = Error{ErrorCode::resource_exhausted,
                 rules_.path + " gave up: " + rules_.children[news.child].path +
                     " ended too often; the last time: " + news.why.what};
  stop_all(now);
}

void State::stop_all(Time now) {
  stopping_ = true;
  for (auto& child : children_) {
    if (child.phase == Phase::due) child.phase = Phase::down;
  }
  stop_next(now);
}

void State::stop_next(Time now) {
  const std::size_t first = stopping_ ? 0 : again_->first;
  for (auto i = children_.size(); i-- > first;) {
    if (!lives(children_[i])) continue;
    if (children_[i].phase == Phase::starting || children_[i].phase == Phase::up) ask(i, now);
    return;
  }
  if (!stopping_) return start_again(now);
  finished_ = true;
  effects_.emplace_back(Finish{error_});
}

void State::ask(std::size_t index, Time now) {
  auto& child = children_[index];
  const auto limit = rules_.children[index].shutdown.limit;
  if (limit == Millis(0)) return kill(index, "");
  child.phase = Phase::stopping;
  if (limit) child.kill_at = now + *limit;
  const Error why = stopping_ ? error_.value_or(Error{ErrorCode::aborted, ""}) : again_->why;
  effects_.emplace_back(Ask{index, why});
}

void State::kill(std::size_t index, const std::string& why) {
  auto& child = children_[index];
  child.phase = Phase::killed;
  child.kill_at.reset();
  Error told = stopping_ ? error_.value_or(Error{ErrorCode::aborted, ""}) : again_->why;
  if (!why.empty()) told.what += (told.what.empty() ? "killed: " : "; killed: ") + why;
  effects_.emplace_back(Kill{index, std::move(told)});
}

void State::start_again(Time now) {
  if (now < again_->at) return;  // wake() says when
  const auto first = std::exchange(again_, std::nullopt)->first;
  for (std::size_t i = first; i < children_.size(); ++i) {
    if (rules_.children[i].restart != Restart::temporary) start(i);
  }
}

void State::finish_if_none_left() {
  const bool some = again_ || std::any_of(children_.begin(), children_.end(),
                                          [](const auto& it) { return it.phase != Phase::down; });
  if (some || finished_) return;
  finished_ = true;
  effects_.emplace_back(Finish{});
}

}  // namespace troupe::supervise
