// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/live_table.hpp"

#include "actors/base/log.hpp"

#include <algorithm>

namespace troupe {
namespace {

ActorTable::Time now() { return std::chrono::steady_clock::now(); }

template <class Value>
const Value* field(const Event& event, const char* name) {
  const auto it = std::find_if(event.fields.begin(), event.fields.end(),
                               [&](const auto& field) { return field.first == name; });
  return it == event.fields.end() ? nullptr : std::get_if<Value>(&it->second);
}

}  // namespace

void LiveTable::expect(const ActorSeat& seat) {
  const std::lock_guard lock(mutex_);
  table_.expect(seat, now());
}

void LiveTable::up(const ActorLife& life) {
  {
    const std::lock_guard lock(mutex_);
    table_.up(life, now());
  }
  const LogScope scope(life.path);
  log_info("up on node {}, process {}", life.actor.node.name, life.pid);
}

void LiveTable::down(const std::string& path, const Error& why, bool comes_back) {
  {
    const std::lock_guard lock(mutex_);
    table_.down(path, why, comes_back, now());
  }
  const LogScope scope(path);
  log_info("down: {}{}", why.what, comes_back ? "; it is started again" : "");
}

void LiveTable::waiting(const std::string& path, const std::string& what) {
  {
    const std::lock_guard lock(mutex_);
    table_.waiting(path, what, now());
  }
  const LogScope scope(path);
  if (!what.empty()) log_info("waits for {}", what);
}

void LiveTable::on_event(const Event& event) {
  const auto* path = field<std::string>(event, "path");
  if (path == nullptr) return;
  if (event.name == "waiting" || event.name == "actor_waits") {
    if (const auto* what = field<std::string>(event, "what")) waiting(*path, *what);
  } else if (event.name == "step") {
    const auto* step = field<std::int64_t>(event, "step");
    const std::lock_guard lock(mutex_);
    if (step != nullptr) table_.stepped(*path, static_cast<std::uint64_t>(*step), now());
  } else if (event.name == "view") {
    const std::lock_guard lock(mutex_);
    table_.waiting(*path, {}, now());
  }
}

}  // namespace troupe
