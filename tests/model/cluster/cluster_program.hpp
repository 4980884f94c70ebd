// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/model/cluster/host_model.hpp"
#include "tests/model/cluster/lease_holder.hpp"
#include "tests/model/cluster/member_program.hpp"
#include "tests/model/cluster/request_line.hpp"
#include "tests/model/cluster/term_model.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::model {

inline constexpr Resources machine_resources{4, Bytes{0}, 0};
/// Of the child that is asked to end without limit, and does.
inline constexpr const char* patient_path = "/jobs/j/c0";

/// A node of the model with all that it does: it is a member, hosts lives, and may want to act.
class ClusterProgram final : public MemberProgram {
 public:
  struct Parts {
    MemberProgram::Setup member;
    bool may_act = false;  ///< of role control
    bool heeds_expiry = true;
    TermModel::Setup term;
    std::function<void()> acting;                      ///< it acts, or acts longer
    std::function<void(const std::string&)> complain;  ///< something is wrong
  };

  ClusterProgram(Network& network, StoreService& store, std::size_t machine, const PeerInfo& self,
                 const Parts& parts);

  void on_start() override;
  void on_peer_up(const PeerInfo& peer) override;
  void on_peer_down(const NodeId& peer, const Error& why) override;
  void on_tick() override;

  // For its parts.
  void send(const NodeId& to, std::function<void(ClusterProgram&)> what);
  /// `what` runs there and answers now or later; `then` runs here, with an error at the latest
  /// when the connection ends.
  void request(const NodeId& to, std::function<void(ClusterProgram&, const Answer&)> what,
               Answer then);
  void later(Millis wait, std::function<void()> what) {
    network_.later(machine_, wait, std::move(what));
  }
  void complain(const std::string& what) const { parts_.complain(what); }
  [[nodiscard]] TimePoint now() const { return network_.clock(machine_); }
  [[nodiscard]] const NodeId& id() const { return id_; }
  [[nodiscard]] bool reaches(const NodeId& node) const {
    return node == id_ || peers_.contains(node);
  }
  [[nodiscard]] std::vector<NodeId> hosts() const;
  [[nodiscard]] HostModel& host() { return host_; }
  /// Nothing: that term is over.
  [[nodiscard]] TermModel* term(const std::string& key) {
    return term_ && term_->key() == key ? &*term_ : nullptr;
  }

  // What is true.
  [[nodiscard]] bool acts() const { return lease_ && lease_->acts(); }
  [[nodiscard]] const TermModel* term() const { return term_ ? &*term_ : nullptr; }

 private:
  void begin_term(const Lease& lease);
  void end_term();

  Network& network_;
  std::size_t machine_;
  NodeId id_;
  Parts parts_;
  std::set<NodeId> peers_;
  RequestLine requests_;
  HostModel host_;
  std::optional<TermModel> term_;
  std::optional<LeaseHolderModel> lease_;
};

}  // namespace troupe::model
