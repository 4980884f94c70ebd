// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/actor_table.hpp"

#include <charconv>
#include <limits>

namespace troupe {
namespace {

std::chrono::milliseconds between(ActorTable::Time from, ActorTable::Time to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from);
}

bool ended_normally(const Error& why) { return why.what == "ended normally"; }

bool lives(ActorState state) {
  return state == ActorState::RUNNING || state == ActorState::WAITING;
}

}  // namespace

bool is_below(std::string_view path, std::string_view prefix) {
  if (path.substr(0, prefix.size()) != prefix) return false;
  return prefix.empty() || path.size() == prefix.size() || path[prefix.size()] == '/';
}

ActorEntry& ActorTable::entry(const std::string& path, Time now) {
  const auto [it, fresh] = entries_.try_emplace(path);
  if (fresh) {
    const auto seat = seats_.find(path);
    it->second.seat = seat == seats_.end() ? ActorSeat{path, {}, {}, {}} : seat->second;
    it->second.since = now;
  }
  return it->second;
}

void ActorTable::expect(const ActorSeat& seat, Time now) {
  seats_[seat.path] = seat;
  entry(seat.path, now).seat = seat;
}

void ActorTable::up(const ActorLife& life, Time now) {
  auto& it = entry(life.path, now);
  it.life = life;
  it.state = ActorState::RUNNING;
  it.since = it.up_at = now;
  it.rate = {};
  it.waits_for.clear();
}

void ActorTable::bury(const ActorEntry& entry, const Error& why, Time now) {
  auto dead = entry;
  dead.lived = lives(entry.state) ? between(entry.up_at, now) : std::chrono::milliseconds(0);
  dead.state = ended_normally(why) ? ActorState::ENDED : ActorState::FAILED;
  dead.since = now;
  dead.cause = why.what;
  dead.waits_for.clear();
  dead.serial = ++serial_;
  if (dead.state == ActorState::FAILED) ++failures_;
  ended_.push_back(std::move(dead));
  if (ended_.size() > most_ended_) ended_.pop_front();
}

void ActorTable::bury_below(const std::string& path, const Error& why, Time now) {
  const auto first = path + "/";
  for (auto it = entries_.lower_bound(first); it != entries_.end() && is_below(it->first, path);
       it = entries_.erase(it)) {
    if (lives(it->second.state))
      bury(it->second, {why.code, "with " + path + ": " + why.what}, now);
  }
  auto seat = seats_.lower_bound(first);
  while (seat != seats_.end() && is_below(seat->first, path)) seat = seats_.erase(seat);
}

void ActorTable::down(const std::string& path, const Error& why, bool comes_back, Time now) {
  const auto it = entries_.find(path);
  if (it == entries_.end()) return;
  auto& entry = it->second;
  bury(entry, why, now);
  if (comes_back) {
    ++restarts_;
    ++entry.restarts;
    entry.state = ActorState::RESTARTING;
    entry.since = now;
    entry.cause = why.what;
    entry.life = {};
    entry.rate = {};
    entry.waits_for.clear();
    return;
  }
  const bool job = entry.seat.supervisor.empty() && entry.seat.kind == "supervisor";
  entries_.erase(it);
  if (!job) return;
  bury_below(path, why, now);
  seats_.erase(path);
}

void ActorTable::waiting(const std::string& path, const std::string& what, Time now) {
  const auto it = entries_.find(path);
  if (it == entries_.end()) return;
  auto& entry = it->second;
  entry.waits_for = what;
  const auto state = what.empty() ? ActorState::RUNNING : ActorState::WAITING;
  if (!lives(entry.state) || entry.state == state) return;
  entry.state = state;
  entry.since = now;
}

void ActorTable::stepped(const std::string& path, std::uint64_t step, Time now) {
  const auto it = entries_.find(path);
  if (it == entries_.end()) return;
  it->second.rate.add(step, now);
  waiting(path, {}, now);
}

const ActorEntry* ActorTable::find(const std::string& path) const {
  const auto it = entries_.find(path);
  return it == entries_.end() ? nullptr : &it->second;
}

ActorTable::Page ActorTable::list(const std::string& prefix, const std::string& after,
                                  std::size_t limit) const {
  Page page;
  auto it = after.empty() ? entries_.lower_bound(prefix) : entries_.upper_bound(after);
  for (; it != entries_.end() && it->first.compare(0, prefix.size(), prefix) == 0; ++it) {
    if (!is_below(it->first, prefix)) continue;
    if (page.entries.size() == limit) {
      page.next = page.entries.empty() ? std::string() : page.entries.back()->seat.path;
      return page;
    }
    page.entries.push_back(&it->second);
  }
  return page;
}

ActorTable::Page ActorTable::list_ended(const std::string& prefix, const std::string& after,
                                        std::size_t limit) const {
  std::uint64_t before = std::numeric_limits<std::uint64_t>::max();
  if (!after.empty()) std::from_chars(after.data(), after.data() + after.size(), before);
  Page page;
  for (auto it = ended_.rbegin(); it != ended_.rend(); ++it) {
    if (it->serial >= before || !is_below(it->seat.path, prefix)) continue;
    if (page.entries.size() == limit) {
      page.next =
          page.entries.empty() ? std::string() : std::to_string(page.entries.back()->serial);
      return page;
    }
    page.entries.push_back(&*it);
  }
  return page;
}

ActorTable::Totals ActorTable::totals() const {
  Totals totals;
  for (const auto& [path, entry] : entries_) {
    ++(is_below(path, nodes_path) ? totals.nodes : totals.by_state[entry.state]);
  }
  totals.restarts = restarts_;
  totals.failures = failures_;
  return totals;
}

}  // namespace troupe
