// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/node.hpp"
#include "actors/core/remote/remote_actors.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

namespace troupe {

/// The configuration of a node's actor system: what the network module must know before it exists.
struct NodeConfig : caf::actor_system_config {
  NodeConfig(NodeId self, const MessageTypes& message_types,
             const SchedulerOptions& scheduler = {});

  NodeId id;
  const MessageTypes& types;
};

}  // namespace troupe

namespace caf::net {

/// CAF 0.17 declares this class, makes it a friend of the actor system and reserves a module for
/// it, but leaves it to others to define: here it gives the system its node id
/// (troupe://name/incarnation) and owns the remote actors.
class middleman final : public actor_system::module {
 public:
  explicit middleman(actor_system& system) : system_(system) {}

  static actor_system::module* make(actor_system& system, detail::type_list<>) {
    return new middleman(system);
  }

  void init(actor_system_config& config) override;
  void start() override {}
  void stop() override {}
  id_t id() const override { return module::network_manager; }
  void* subtype_ptr() override { return this; }

  [[nodiscard]] troupe::RemoteActors& remote() { return *remote_; }

 private:
  actor_system& system_;
  std::unique_ptr<troupe::RemoteActors> remote_;
};

}  // namespace caf::net
