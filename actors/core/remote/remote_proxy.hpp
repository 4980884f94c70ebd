// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/remote/remote_actors.hpp"

#include <caf/actor_proxy.hpp>

#include <atomic>
#include <memory>
#include <utility>

namespace troupe {

/// Stands for an actor of another node: what it receives goes over the transport; it is down when
/// that actor is, or when its node is.
class RemoteProxy final : public caf::actor_proxy {
 public:
  RemoteProxy(caf::actor_config& config, RemoteActors& remote, std::shared_ptr<RemoteNode> node)
      : caf::actor_proxy(config), remote_(remote), node_of_it_(std::move(node)) {}

  using caf::actor_proxy::enqueue;
  void enqueue(caf::mailbox_element_ptr element, caf::execution_unit*) override {
    remote_.forward(*this, *element);
  }
  void attach(caf::attachable_ptr observer) override {
    caf::actor_proxy::attach(std::move(observer));
    if (!watched_.exchange(true)) remote_.monitor(*this);
  }
  bool add_backlink(caf::abstract_actor* other) override {
    if (!caf::actor_proxy::add_backlink(other)) return false;
    if (!watched_.exchange(true)) remote_.monitor(*this);
    remote_.link(FrameKind::link, *this, *other);
    return true;
  }
  bool remove_backlink(caf::abstract_actor* other) override {
    remote_.link(FrameKind::unlink, *this, *other);
    return caf::actor_proxy::remove_backlink(other);
  }
  void kill_proxy(caf::execution_unit* host, caf::error reason) override {
    cleanup(std::move(reason), host);
  }

  [[nodiscard]] RemoteNode& remote_node() { return *node_of_it_; }
  /// The actor that sent something last: others can reach it.
  std::atomic<ActorNumber> last_sender{0};

 private:
  RemoteActors& remote_;
  std::shared_ptr<RemoteNode> node_of_it_;
  std::atomic<bool> watched_{false};  ///< the other node has been asked to tell of its end
};

}  // namespace troupe
