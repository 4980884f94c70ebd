// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/proxy_table.hpp"

#include "actors/core/remote/drop_ended.hpp"

#include <utility>

namespace troupe {

caf::strong_actor_ptr ProxyTable::find(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  const auto it = proxies_.find(actor);
  return it == proxies_.end() ? nullptr : it->second.lock();
}

caf::strong_actor_ptr ProxyTable::add(ActorNumber actor, const caf::strong_actor_ptr& proxy) {
  const std::lock_guard lock(mutex_);
  drop_ended(proxies_);
  auto& slot = proxies_[actor];
  if (auto other = slot.lock()) return other;  // somebody else was faster
  slot = caf::weak_actor_ptr(proxy.get(), true);
  return proxy;
}

void ProxyTable::watch(ActorNumber actor, caf::strong_actor_ptr proxy) {
  const std::lock_guard lock(mutex_);
  watched_[actor] = std::move(proxy);
}

void ProxyTable::unwatch(ActorNumber actor) {
  caf::strong_actor_ptr proxy;  // ends after the lock
  const std::lock_guard lock(mutex_);
  const auto it = watched_.find(actor);
  if (it == watched_.end()) return;
  proxy = std::move(it->second);
  watched_.erase(it);
}

std::vector<caf::strong_actor_ptr> ProxyTable::take_all() {
  std::vector<caf::strong_actor_ptr> all;
  Proxies proxies;
  std::map<ActorNumber, caf::strong_actor_ptr> watched;
  {
    const std::lock_guard lock(mutex_);
    proxies.swap(proxies_);
    watched.swap(watched_);
  }
  for (const auto& [actor, weak] : proxies) {
    if (auto proxy = weak.lock()) all.push_back(std::move(proxy));
  }
  return all;
}

}  // namespace troupe
