// SPDX-License-Identifier: Apache-2.0
#include "actors/core/lease/lease_keeper.hpp"

#include "actors/base/assert.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

KeeperEffects LeaseKeeper::start(Time now) {
  ask(keeper_effect::Acquire{}, now);
  return take(now);
}

KeeperEffects LeaseKeeper::step(const KeeperEvent& event, Time now) {
  if (phase_ == Phase::ended) return {};
  std::visit([&](const auto& what) { on(what, now); }, event);
  return take(now);
}

void LeaseKeeper::on(const keeper_event::Timer&, Time now) {
  look_at_clock(now);
  if (asking_ || now < next_) return;
  if (phase_ == Phase::waiting) ask(keeper_effect::Acquire{}, now);
  if (phase_ == Phase::holding) ask(keeper_effect::Renew{lease_}, now);
}

void LeaseKeeper::on(const keeper_event::Granted& granted, Time now) {
  TROUPE_ASSERT(asking_ && phase_ == Phase::waiting);
  asking_ = false;
  lease_ = granted.lease;
  until_ = asked_ + wish_.ttl;
  lost_ = false;
  trouble_.reset();
  if (ending_ || now >= until_ - wish_.margin()) return give_back(now);
  phase_ = Phase::holding;
  next_ = asked_ + wish_.renew_after();
  said_.clear();
  effects_.push_back(keeper_effect::Have{lease_, until_});
}

void LeaseKeeper::on(const keeper_event::Renewed&, Time now) {
  TROUPE_ASSERT(asking_);
  asking_ = false;
  until_ = asked_ + wish_.ttl;
  next_ = asked_ + wish_.renew_after();
  trouble_.reset();
  if (give_back_) return give_back(now);
  if (phase_ != Phase::holding) return;  // it was told to stop, and that stays
  effects_.push_back(keeper_effect::Extended{until_});
  look_at_clock(now);
}

void LeaseKeeper::on(const keeper_event::Released&, Time now) {
  TROUPE_ASSERT(asking_);
  asking_ = false;
  wait(now, {});
}

void LeaseKeeper::on(const keeper_event::Failed& failed, Time now) {
  TROUPE_ASSERT(asking_);
  asking_ = false;
  if (phase_ == Phase::waiting) return wait(now, failed.why);
  lost_ = lost_ || failed.why.code == ErrorCode::aborted;
  if (give_back_) return give_back(now);
  if (phase_ != Phase::holding) return;
  if (lost_) return stop(failed.why);
  if (!trouble_) trouble_ = failed.why;
  next_ = now + wish_.retry_after();
  look_at_clock(now);
}

void LeaseKeeper::on(const keeper_event::ClientStopped&, Time now) {
  if (phase_ != Phase::holding && phase_ != Phase::stopping) return;
  phase_ = Phase::stopping;
  give_back_ = true;
  if (!asking_) give_back(now);
}

void LeaseKeeper::on(const keeper_event::End&, Time now) {
  ending_ = true;
  if (phase_ == Phase::holding) stop({ErrorCode::aborted, "it is not wanted any more"});
  if (phase_ == Phase::waiting && !asking_) wait(now, {});
}

template <class Request>
void LeaseKeeper::ask(Request request, Time now) {
  asking_ = true;
  asked_ = now;
  effects_.push_back(std::move(request));
}

/// Nothing is held: asks again some time later, if it is still wanted.
void LeaseKeeper::wait(Time now, std::optional<Error> why) {
  give_back_ = false;
  if (ending_) {
    phase_ = Phase::ended;
    effects_.push_back(keeper_effect::Ended{});
    return;
  }
  phase_ = Phase::waiting;
  next_ = now + wish_.ask_again_after();
  if (!why || why->what == said_) return;
  said_ = why->what;
  effects_.push_back(keeper_effect::Waiting{*std::move(why)});
}

void LeaseKeeper::stop(Error why) {
  phase_ = Phase::stopping;
  effects_.push_back(keeper_effect::Stop{lease_, std::move(why)});
}

/// The client acts no more. A lease that is lost is another's or nobody's.
void LeaseKeeper::give_back(Time now) {
  if (lost_) return wait(now, {});
  give_back_ = false;
  ask(keeper_effect::Release{lease_}, now);
}

void LeaseKeeper::look_at_clock(Time now) {
  if (phase_ != Phase::holding || now < until_ - wish_.margin()) return;
  const auto reason = trouble_
                          ? *trouble_
                          : Error{ErrorCode::timeout, asking_ ? "the store has not answered yet"
                                                              : "it was not renewed in time"};
  stop({reason.code, "lease '" + wish_.name + "' ends in " +
                         std::to_string(std::max<Millis>(until_ - now, Millis(0)).count()) +
                         " ms and could not be renewed: " + reason.what});
}

std::optional<BootClock::time_point> LeaseKeeper::next_wake() const {
  if (phase_ == Phase::holding) {
    const auto stop_at = until_ - wish_.margin();
    return asking_ ? stop_at : std::min(next_, stop_at);
  }
  if (phase_ == Phase::waiting && !asking_) return next_;
  return {};
}

/// What is to be done, and when to look again.
KeeperEffects LeaseKeeper::take(Time now) {
  if (const auto wake = next_wake()) {
    effects_.push_back(keeper_effect::WakeAt{std::max(*wake, now)});
  }
  return std::exchange(effects_, {});
}

}  // namespace troupe
