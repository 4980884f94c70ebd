// SPDX-License-Identifier: Apache-2.0
#include "tests/model/cluster/term_model.hpp"

#include "tests/model/cluster/cluster_program.hpp"

#include <algorithm>
#include <utility>

namespace troupe::model {
namespace {

constexpr Resources takes{1, Bytes{0}, 0};

}  // namespace

TermModel::TermModel(ClusterProgram& program, std::string key, Setup setup)
    : program_(program),
      key_(std::move(key)),
      setup_(std::move(setup)),
      state_(setup_.rules),
      children_(setup_.rules.children.size()) {}

void TermModel::begin() {
  const auto hosts = program_.hosts();
  lists_ = hosts.size();
  for (const auto& host : hosts) {
    program_.request(
        host, [](ClusterProgram& there, const Answer& reply) { reply(there.host().up()); },
        [&program = program_, key = key_, host](const Result<Lives>& lives) {
          if (auto* term = program.term(key)) term->listed(host, lives);
        });
  }
}

void TermModel::listed(const NodeId& host, const Result<Lives>& lives) {
  if (lives) {
    for (const auto& life : *lives) found_.push_back({host, life});
  }
  if (--lists_ == 0) step(supervise::Begin{});
}

void TermModel::tick() {
  const auto wake = state_.wake();
  if (wake && *wake <= program_.now()) step(supervise::Tick{});
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (children_[i].wanted) place(i);
  }
}

void TermModel::step(const supervise::News& news) {
  for (const auto& effect : state_.step(news, program_.now())) {
    std::visit([this](const auto& one) { carry_out(one); }, effect);
  }
}

void TermModel::carry_out(const supervise::Start& start) {
  children_[start.child] = {};
  children_[start.child].life = start.life;
  if (!adopt(start.child)) place(start.child);
}

/// False: nobody is known to be there.
bool TermModel::adopt(std::size_t index) {
  const auto& path = setup_.rules.children[index].path;
  const auto it = std::find_if(found_.begin(), found_.end(),
                               [&](const auto& one) { return one.life.path == path; });
  if (it == found_.end()) return false;
  const auto found = *it;
  found_.erase(it);
  auto& child = children_[index];
  child.where = found.host;
  child.host_life = found.life.life;
  program_.request(
      found.host,
      [path, life = child.host_life, key = key_, from = program_.id()](ClusterProgram& there,
                                                                       const Answer& reply) {
        there.host().adopt(path, life, key, from, reply);
      },
      [&program = program_, key = key_, index, life = child.life](const Result<Lives>& answer) {
        if (auto* term = program.term(key)) term->answered(index, life, answer, true);
      });
  return true;
}

std::vector<PlacementNode> TermModel::nodes() const {
  std::vector<PlacementNode> nodes;
  for (const auto& host : program_.hosts()) {
    PlacementNode node{host, {}, machine_resources, machine_resources, false};
    for (const auto& child : children_) {
      if (child.where == host) node.free.cpus -= std::min(node.free.cpus, takes.cpus);
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

void TermModel::place(std::size_t index) {
  auto& child = children_[index];
  const auto& path = setup_.rules.children[index].path;
  PlacementRequest request{path, {takes, {}}, {}};
  for (const auto& other : children_) {
    if (other.where) request.siblings.push_back(*other.where);
  }
  const auto placement = policy_->place(request, nodes());
  child.wanted = !placement.node;
  if (child.wanted) return;
  child.where = placement.node;
  child.host_life = child.life;
  HostTable::Request launch{path, child.life, "engine", key_, takes};
  program_.request(
      *child.where,
      [launch, from = program_.id()](ClusterProgram& there, const Answer& reply) {
        there.host().launch(launch, from, reply);
      },
      [&program = program_, key = key_, index, life = child.life](const Result<Lives>& answer) {
        if (auto* term = program.term(key)) term->answered(index, life, answer, false);
      });
}

void TermModel::answered(std::size_t index, std::uint64_t life, const Result<Lives>& answer,
                         bool adopted) {
  auto& child = children_[index];
  if (child.life != life || !child.where) return;
  if (answer) {
    child.up = true;
    adopted_ += adopted ? 1 : 0;
    return step(supervise::Came{index, life});
  }
  const auto host = *child.where;
  const auto& why = answer.error();
  const bool gone = !program_.reaches(host);
  if ((adopted && !gone) || why.code == ErrorCode::resource_exhausted) {
    child.where.reset();
    child.wanted = true;
    return;
  }
  ended(index, why, gone ? to_string(host) : "");
}

void TermModel::end(std::size_t index, bool kill) {
  auto& child = children_[index];
  if (!child.where) return ended(index, {ErrorCode::aborted, "while it waited for a node"}, "");
  program_.send(*child.where, [path = setup_.rules.children[index].path, life = child.host_life,
                               kill, key = key_, from = program_.id()](ClusterProgram& there) {
    there.host().end(path, life, kill, key, from);
  });
  if (setup_.does_not_wait) ended(index, {ErrorCode::aborted, "it was told to end"}, "");
}

void TermModel::ended(std::size_t index, const Error& why, const std::string& lost_with) {
  const auto life = std::exchange(children_[index], {}).life;
  children_[index].life = life;
  step(supervise::Ended{index, life, why, false, lost_with});
}

void TermModel::life_ended(const NodeId& host, const std::string& path, std::uint64_t life,
                           const std::string& how) {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const auto& child = children_[i];
    if (setup_.rules.children[i].path != path || child.where != host || child.host_life != life) {
      continue;
    }
    if (child.up) return ended(i, {ErrorCode::unavailable, how}, "");
  }
}

void TermModel::peer_gone(const NodeId& peer) {
  if (setup_.forgets_downs) return;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    // What is not up yet waits for an answer, which bounces.
    if (children_[i].where == peer && children_[i].up) {
      ended(i, {ErrorCode::unavailable, "its node is gone"}, to_string(peer));
    }
  }
}

}  // namespace troupe::model
