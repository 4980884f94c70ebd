// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/host_table.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

Result<std::string> HostTable::launch(const Request& request) {
  if (const auto it = lives_.find(request.path); it != lives_.end()) {
    return fail(ErrorCode::already_exists, request.path + " lives on node " + settings_.host +
                                               " already, for " + it->second.owner);
  }
  if (lives_.size() >= settings_.most_lives) {
    return fail(ErrorCode::resource_exhausted, "node " + settings_.host + " hosts " +
                                                   std::to_string(lives_.size()) +
                                                   " actors already, which is as many as it may");
  }
  const PlacementNode self{{}, settings_.labels, settings_.total, free(), draining_};
  if (const auto why = misfit({request.takes, {}}, self); !why.empty()) {
    return fail(ErrorCode::resource_exhausted,
                request.path + " does not fit on node " + settings_.host + ": " + why);
  }
  auto name = request.node_name + "." + std::to_string(++launches_);
  if (!is_node_name(name)) {
    return fail(ErrorCode::invalid_argument, request.path + " asks for a node name that is none");
  }
  Entry entry;
  entry.path = request.path;
  entry.life = request.life;
  entry.node_name = name;
  entry.owner = request.owner;
  entry.takes = request.takes;
  lives_.emplace(request.path, std::move(entry));
  return name;
}

bool HostTable::orphan_at(const std::string& path) const {
  const auto* life = find(path);
  return life != nullptr && life->orphan;
}

const HostedLife* HostTable::find(const std::string& path) const {
  const auto it = lives_.find(path);
  return it == lives_.end() ? nullptr : &it->second;
}

const HostedLife* HostTable::find_node(const std::string& node_name) const {
  for (const auto& [path, entry] : lives_) {
    if (entry.node_name == node_name) return &entry;
  }
  return nullptr;
}

std::vector<const HostedLife*> HostTable::below(std::string_view path) const {
  std::vector<const HostedLife*> found;
  for (const auto& [own, entry] : lives_) {
    if (std::string_view(own).substr(0, path.size()) == path) found.push_back(&entry);
  }
  return found;
}

void HostTable::started(const std::string& path, int pid) {
  if (const auto it = lives_.find(path); it != lives_.end()) it->second.pid = pid;
}

void HostTable::up(const std::string& path, const ActorRef& actor) {
  const auto it = lives_.find(path);
  if (it == lives_.end()) return;
  it->second.actor = actor;
  if (it->second.phase == HostedLife::Phase::starting) it->second.phase = HostedLife::Phase::up;
}

void HostTable::ended(const std::string& path) { lives_.erase(path); }

std::optional<HostTable::Order> HostTable::end(const std::string& path, std::uint64_t life,
                                               bool kill, const std::string& owner, Time now) {
  const auto it = lives_.find(path);
  if (it == lives_.end() || it->second.life != life) return std::nullopt;
  if (it->second.owner != owner && !it->second.orphan) return std::nullopt;
  it->second.phase = HostedLife::Phase::ending;
  it->second.ends_at.reset();
  // Its owner knows how long it may take; one that is gone cannot say.
  if (it->second.orphan) it->second.kill_at = now + settings_.stop_time;
  return Order{path, kill};
}

Result<HostedLife> HostTable::adopt(const std::string& path, std::uint64_t life,
                                    const std::string& owner) {
  const auto it = lives_.find(path);
  if (it == lives_.end() || it->second.life != life) {
    return fail(ErrorCode::not_found, path + " does not live on node " + settings_.host +
                                          " (life " + std::to_string(life) + ")");
  }
  auto& entry = it->second;
  if (entry.phase != HostedLife::Phase::up) {
    return fail(ErrorCode::unavailable,
                path + " on node " + settings_.host + " is " +
                    (entry.phase == HostedLife::Phase::starting ? "not up yet" : "being ended"));
  }
  if (!entry.orphan && entry.owner != owner) {
    return fail(ErrorCode::already_exists,
                path + " on node " + settings_.host + " has an owner, " + entry.owner);
  }
  entry.owner = owner;
  entry.orphan = false;
  entry.ends_at.reset();
  return HostedLife(entry);
}

void HostTable::owner_gone(const std::string& owner, Time now) {
  for (auto& [path, entry] : lives_) {
    if (entry.owner != owner || entry.orphan) continue;
    entry.orphan = true;
    if (entry.phase == HostedLife::Phase::ending) {
      entry.kill_at = now + settings_.stop_time;
    } else {
      entry.ends_at = now + settings_.orphan_time;
    }
  }
}

std::vector<HostTable::Order> HostTable::due(Time now) {
  std::vector<Order> orders;
  for (auto& [path, entry] : lives_) {
    if (entry.kill_at && now >= *entry.kill_at) {
      entry.kill_at.reset();
      orders.push_back({path, true});
    } else if (entry.ends_at && now >= *entry.ends_at) {
      entry.ends_at.reset();
      entry.kill_at = now + settings_.stop_time;
      entry.phase = HostedLife::Phase::ending;
      orders.push_back({path, false});
    }
  }
  return orders;
}

std::optional<HostTable::Time> HostTable::wake() const {
  std::optional<Time> first;
  for (const auto& [path, entry] : lives_) {
    for (const auto& at : {entry.ends_at, entry.kill_at}) {
      if (at) first = first ? std::min(*first, *at) : *at;
    }
  }
  return first;
}

Resources HostTable::free() const {
  auto left = settings_.total;
  for (const auto& [path, entry] : lives_) {
    left.cpus -= std::min(left.cpus, entry.takes.cpus);
    left.memory.count -= std::min(left.memory.count, entry.takes.memory.count);
    left.gpu -= std::min(left.gpu, entry.takes.gpu);
  }
  return left;
}

}  // namespace troupe
