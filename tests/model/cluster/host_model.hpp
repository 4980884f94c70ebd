// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/model/cluster/request_line.hpp"

#include <map>
#include <optional>
#include <random>
#include <string>

namespace troupe::model {

class ClusterProgram;

/// What the host actor does around a real HostTable: its processes are up after up to half a
/// second, end within a second when they are asked to (one in six does not), and end with it.
class HostModel {
 public:
  explicit HostModel(ClusterProgram& program);

  void launch(const HostTable::Request& request, const NodeId& from, Answer reply);
  void adopt(const std::string& path, std::uint64_t life, const std::string& owner,
             const NodeId& from, const Answer& reply);
  void end(const std::string& path, std::uint64_t life, bool kill, const std::string& owner,
           const NodeId& from);
  [[nodiscard]] Lives up() const;

  void owner_gone(const std::string& owner);
  void peer_gone(const NodeId& peer);
  void tick();
  /// The process of that path ends by itself, if it is here.
  void crash(const std::string& path);

  [[nodiscard]] const HostTable& table() const { return table_; }

 private:
  struct Running {
    std::string node_name;
    NodeId owner;
    std::optional<Answer> awaited;
  };

  void come_up(const std::string& path, const std::string& node_name);
  void carry_out(const HostTable::Order& order);
  void bury(const std::string& path, const std::string& how);
  void tell_owner(const NodeId& owner, const std::string& key, const std::string& path,
                  std::uint64_t life, const std::string& how);

  ClusterProgram& program_;
  HostTable table_;
  std::map<std::string, Running> running_;  ///< by path
  std::map<std::string, NodeId> owners_;    ///< where they are, by key
  std::mt19937_64 random_;
};

}  // namespace troupe::model
