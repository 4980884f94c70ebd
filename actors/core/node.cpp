// SPDX-License-Identifier: Apache-2.0
#include "actors/core/node.hpp"

#include "actors/core/node_actor.hpp"
#include "actors/core/remote/net_module.hpp"
#include "actors/core/supervise/path_router.hpp"
#include "actors/net/bulk/bulk.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/loopback_transport.hpp"
#include "actors/net/ucx_transport.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

namespace troupe {
Node::Node(NodeOptions options, const ActorKinds& kinds)
    : options_(std::move(options)),
      kinds_(kinds),
      id_{options_.name, random_number()},
      config_(std::make_unique<NodeConfig>(id_, kinds.messages(), options_.scheduler)),
      system_(std::make_unique<caf::actor_system>(*config_)),
      paths_(std::make_unique<PathRouter>(*system_)) {}

Result<std::unique_ptr<Node>> Node::start(NodeOptions options, const ActorKinds& kinds) {
  if (!is_node_name(options.name)) {
    return fail(ErrorCode::invalid_argument,
                "'" + options.name +
                    "' is no node name: use letters, digits, '.', '_' and '-', at most 100");
  }
  if (options.scheduler.threads > SchedulerOptions::max_threads) {
    return fail(ErrorCode::invalid_argument,
                std::to_string(options.scheduler.threads) + " threads are too many for actors: " +
                    std::to_string(SchedulerOptions::max_threads) + " at most");
  }
  std::unique_ptr<Node> node(new Node(std::move(options), kinds));
  if (auto opened = node->open(); !opened) return Failure(opened.error());
  return node;
}

Result<void> Node::open() {
  node_actor_ = spawn_node_actor(*this, options_.state_fd);
  if (options_.hub != nullptr) {
    transport_ = options_.hub->make({id_, {}, options_.version, node_actor_.id(), options_.role});
  } else {
    transport_ = make_ucx_transport({id_,
                                     options_.version,
                                     node_actor_.id(),
                                     options_.listen,
                                     options_.secret,
                                     options_.encrypt,
                                     {},
                                     options_.role});
  }
  auto& remote = system_->network_manager().remote();
  auto bulk = Bulk::make();
  if (!bulk) return Failure(bulk.error());
  bulk_ = std::move(*bulk);
  auto self = transport_->start(bulk_->handler(remote));
  if (!self) return Failure(self.error());
  self_ = *self;
  bulk_->attach(*transport_, self_);
  remote.attach(*transport_, self_);
  (void)remote.ref(node_actor_);  // makes it reachable
  membership_ = std::make_unique<Membership>(*this, options_.offer, options_.joins, options_.seeds);
  return {};
}

Node::~Node() {
  if (node_actor_) {
    caf::scoped_actor self{*system_};
    self->send_exit(node_actor_, caf::exit_reason::user_shutdown);
    self->wait_for(node_actor_);
  }
  paths_->close({ErrorCode::aborted, "this node is stopping"});
  membership_.reset();
  if (transport_) transport_->stop();
  if (bulk_) bulk_->detach();
  system_->network_manager().remote().detach();
  node_actor_ = nullptr;
  system_.reset();  // supervisors that still end have the use of paths_
}

caf::actor Node::resolve(const ActorRef& ref) {
  return system_->network_manager().remote().resolve(ref);
}

ActorRef Node::ref(const caf::actor& actor) {
  return system_->network_manager().remote().ref(actor);
}

caf::actor Node::node_actor_of(const PeerInfo& peer) {
  return resolve({peer.id, peer.control, peer.node_actor});
}

void Node::offer(const std::string& service, const caf::actor& actor) {
  caf::anon_send(node_actor_, OfferService{service, actor});
}

void Node::run_inline(const caf::actor& actor) {
  system_->network_manager().remote().run_inline(actor);
}

void Node::connect(const Address& to) { transport_->connect(to, std::nullopt); }

void Node::watch(const caf::actor& watcher) { system_->network_manager().remote().watch(watcher); }

}  // namespace troupe
