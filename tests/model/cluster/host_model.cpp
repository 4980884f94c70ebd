// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/host_model.hpp"

#include "tests/model/cluster/cluster_program.hpp"

#include <utility>

namespace troupe::model {
namespace {

HostTable::Settings settings_of(const ClusterProgram& program) {
  HostTable::Settings settings;
  settings.host = program.id().name;
  settings.total = machine_resources;
  return settings;
}

}  // namespace

HostModel::HostModel(ClusterProgram& program)
    : program_(program), table_(settings_of(program)), random_(program.id().incarnation) {}

void HostModel::launch(const HostTable::Request& request, const NodeId& from, Answer reply) {
  if (table_.orphan_at(request.path)) bury(request.path, "gives way");
  owners_[request.owner] = from;
  auto name = table_.launch(request);
  if (!name) return reply(Failure(name.error()));
  table_.started(request.path, 1);
  running_[request.path] = {*name, from, std::move(reply)};
  program_.later(Millis(20 + random_() % 480),
                 [this, path = request.path, name = *name] { come_up(path, name); });
}

void HostModel::come_up(const std::string& path, const std::string& node_name) {
  const auto it = running_.find(path);
  if (it == running_.end() || it->second.node_name != node_name || !it->second.awaited) return;
  table_.up(path, {});
  const auto reply = *std::exchange(it->second.awaited, std::nullopt);
  reply(Lives{*table_.find(path)});
}

void HostModel::adopt(const std::string& path, std::uint64_t life, const std::string& owner,
                      const NodeId& from, const Answer& reply) {
  owners_[owner] = from;
  auto adopted = table_.adopt(path, life, owner);
  if (!adopted) return reply(Failure(adopted.error()));
  running_.at(path).owner = from;
  reply(Lives{*adopted});
}

void HostModel::end(const std::string& path, std::uint64_t life, bool kill,
                    const std::string& owner, const NodeId& from) {
  const auto* there = table_.find(path);
  const bool others = there != nullptr && there->owner != owner && !there->orphan;
  const auto order = table_.end(path, life, kill, owner, program_.now());
  if (!order) return tell_owner(from, owner, path, life, "it is not there, or another's");
  if (others) program_.complain(owner + " ends " + path + ", which is another's");
  carry_out(*order);
}

Lives HostModel::up() const {
  Lives lives;
  for (const auto* life : table_.below("/")) {
    if (life->phase == HostedLife::Phase::up) lives.push_back(*life);
  }
  return lives;
}

void HostModel::owner_gone(const std::string& owner) {
  owners_.erase(owner);
  table_.owner_gone(owner, program_.now());
}

void HostModel::peer_gone(const NodeId& peer) {
  const auto owners = owners_;
  for (const auto& [owner, where] : owners) {
    if (where == peer) owner_gone(owner);
  }
}

void HostModel::tick() {
  for (const auto& order : table_.due(program_.now())) carry_out(order);
}

void HostModel::crash(const std::string& path) { bury(path, "killed by signal 11"); }

void HostModel::carry_out(const HostTable::Order& order) {
  const auto it = running_.find(order.path);
  if (it == running_.end()) return;
  if (order.kill) return bury(order.path, "killed by signal 9");
  if (order.path != patient_path && random_() % 6 == 0) return;  // it does not heed SIGTERM
  program_.later(Millis(50 + random_() % 750),
                 [this, path = order.path, name = it->second.node_name] {
                   const auto there = running_.find(path);
                   if (there != running_.end() && there->second.node_name == name) {
                     bury(path, "exit 0");
                   }
                 });
}

void HostModel::bury(const std::string& path, const std::string& how) {
  const auto it = running_.find(path);
  if (it == running_.end()) return;
  const auto life = *table_.find(path);
  const auto running = std::exchange(it->second, {});
  running_.erase(it);
  table_.ended(path);
  if (running.awaited) {
    return (*running.awaited)(fail(ErrorCode::unavailable, "ended before it was ready: " + how));
  }
  tell_owner(running.owner, life.owner, path, life.life, how);
}

void HostModel::tell_owner(const NodeId& owner, const std::string& key, const std::string& path,
                           std::uint64_t life, const std::string& how) {
  program_.send(owner, [host = program_.id(), key, path, life, how](ClusterProgram& there) {
    if (auto* term = there.term(key)) term->life_ended(host, path, life, how);
  });
}

}  // namespace troupe::model
