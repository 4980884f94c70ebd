// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/ties.hpp"

namespace troupe {
namespace {

/// Takes an entry out; was it still wanted?
template <class Table, class Key>
bool take(Table& table, const Key& key) {
  const auto it = table.find(key);
  if (it == table.end()) return false;
  const bool wanted = it->second;
  table.erase(it);
  return wanted;
}

}  // namespace

bool Ties::monitor(ActorNumber ours) {
  const std::lock_guard lock(mutex_);
  return monitored_.insert_or_assign(ours, true).second;
}

void Ties::demonitor(ActorNumber ours) {
  const std::lock_guard lock(mutex_);
  const auto it = monitored_.find(ours);
  if (it != monitored_.end()) it->second = false;
}

bool Ties::end_monitor(ActorNumber ours) {
  const std::lock_guard lock(mutex_);
  return take(monitored_, ours);
}

void Ties::forget_monitors() {
  const std::lock_guard lock(mutex_);
  monitored_.clear();
}

bool Ties::set(const Link& link, bool wanted) {
  const std::lock_guard lock(mutex_);
  const auto it = links_.find(link);
  if (it != links_.end()) it->second = wanted;
  return it != links_.end();
}

bool Ties::add(const Link& link) {
  const std::lock_guard lock(mutex_);
  if (links_.size() >= max_links) return false;
  links_.emplace(link, true);
  return true;
}

bool Ties::end(const Link& link) {
  const std::lock_guard lock(mutex_);
  return take(links_, link);
}

}  // namespace troupe
