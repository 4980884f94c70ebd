// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/supervisor_state.hpp"
#include "tests/model/cluster/request_line.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::model {

class ClusterProgram;

/// What the node that acts does under one lease: the real decisions of a supervisor and of
/// placement, around which it launches, adopts and ends lives on the hosts that it is connected to.
class TermModel {
 public:
  struct Setup {
    supervise::Rules rules;
    bool forgets_downs = false;  ///< it does not take the loss of a node for the end of a child
    bool does_not_wait = false;  ///< what it has told to end is dead to it
  };

  TermModel(ClusterProgram& program, std::string key, Setup setup);

  /// Asks all hosts what lives there; then starts.
  void begin();
  void tick();
  void life_ended(const NodeId& host, const std::string& path, std::uint64_t life,
                  const std::string& how);
  void peer_gone(const NodeId& peer);

  [[nodiscard]] const std::string& key() const { return key_; }
  /// It has given up; why.
  [[nodiscard]] const std::optional<Error>& gave_up() const { return gave_up_; }
  [[nodiscard]] const std::vector<supervise::ChildRules>& children() const {
    return setup_.rules.children;
  }
  [[nodiscard]] std::size_t adopted() const { return adopted_; }

 private:
  struct Child {
    std::uint64_t life = 0;       ///< of the supervisor
    bool wanted = false;          ///< it waits for a node
    std::optional<NodeId> where;  ///< its launch or adoption was asked for there
    std::uint64_t host_life = 0;  ///< differs from `life` where it is adopted
    bool up = false;
  };
  struct Found {
    NodeId host;
    HostedLife life;
  };

  void step(const supervise::News& news);
  void carry_out(const supervise::Start& start);
  void carry_out(const supervise::Ask& ask) { end(ask.child, false); }
  void carry_out(const supervise::Kill& kill) { end(kill.child, true); }
  void carry_out(const supervise::Wait&) {}
  void carry_out(const supervise::Finish& finish) { gave_up_ = finish.error; }

  void listed(const NodeId& host, const Result<Lives>& lives);
  bool adopt(std::size_t child);
  void place(std::size_t child);
  void answered(std::size_t child, std::uint64_t life, const Result<Lives>& answer, bool adopted);
  void end(std::size_t child, bool kill);
  void ended(std::size_t child, const Error& why, const std::string& lost_with);
  [[nodiscard]] std::vector<PlacementNode> nodes() const;

  ClusterProgram& program_;
  std::string key_;
  Setup setup_;
  supervise::State state_;
  std::unique_ptr<PlacementPolicy> policy_ = make_spreading_policy();
  std::vector<Child> children_;
  std::vector<Found> found_;
  std::size_t lists_ = 0;  ///< that are still awaited
  std::size_t adopted_ = 0;
  std::optional<Error> gave_up_;
};

}  // namespace troupe::model
