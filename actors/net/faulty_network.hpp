// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/fault_plan.hpp"
#include "actors/net/loopback_transport.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace troupe {

class FaultyTransport;

/// A network inside one process in which things go wrong by plan; the transports that it makes keep
/// the contract of transport.hpp as far as the plan lets them. Must outlive its transports; safe
/// from any thread. For tests.
class FaultyNetwork final : public LoopbackHub {
 public:
  explicit FaultyNetwork(FaultPlan plan = {});
  ~FaultyNetwork() override;

  /// A node of the in-memory network.
  [[nodiscard]] std::unique_ptr<Transport> make(PeerInfo self) override;
  /// Puts the faults between a transport and its handler. Both sides must be wrapped by this
  /// network.
  [[nodiscard]] std::unique_ptr<Transport> wrap(std::unique_ptr<Transport> inner, NodeId self);

  /// Lets an event happen now.
  void strike(FaultEvent::Kind kind, const std::string& from, const std::string& to);
  [[nodiscard]] FaultCounts counts() const;

 private:
  friend class FaultyTransport;
  struct Path;

  [[nodiscard]] Path& path(const NodeId& from, const NodeId& to);
  /// False: they were dead to each other already.
  bool declare_dead(const NodeId& a, const NodeId& b);
  [[nodiscard]] bool is_dead(const NodeId& a, const NodeId& b) const;
  [[nodiscard]] bool strikes(Path& path);
  void apply(FaultEvent::Kind kind, const NodeId& from, const NodeId& to);
  void sever(const NodeId& a, const NodeId& b, const Error& why);

  const FaultPlan plan_;
  mutable std::mutex mutex_;  // guards all below, and the queues of the transports
  FaultCounts counts_;
  std::map<NodeId, FaultyTransport*> nodes_;
  std::map<std::pair<NodeId, NodeId>, std::unique_ptr<Path>> paths_;
  std::set<std::pair<NodeId, NodeId>> dead_;
};

}  // namespace troupe
