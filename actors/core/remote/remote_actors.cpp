// SPDX-License-Identifier: Apache-2.0
//
// Other nodes come and go. A node is called by the first handle that names it, and is up when the
// transport says so. When it is lost its state is set first, under the mutex, and what hangs on it
// is ended after that: so whoever adds something to a node, and looks at its state afterwards,
// either finds it gone or leaves something that will be ended.
#include "actors/core/remote/remote_actors.hpp"

#include "actors/base/log.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_proxy.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_config.hpp>
#include <caf/make_actor.hpp>
#include <caf/send.hpp>
#include <caf/uri.hpp>

#include <bit>
#include <utility>

namespace troupe {
namespace {

using State = RemoteNode::State;

Error node_gone(const NodeId& node) {
  return {ErrorCode::unavailable, "node " + to_string(node) + " is gone"};
}

/// Whatever the cause was, the other node is not to be had.
caf::error link_lost(const Error& why) {
  const bool ours = why.code == ErrorCode::resource_exhausted;
  return to_caf({ours ? why.code : ErrorCode::unavailable, why.what});
}

void kill(const caf::strong_actor_ptr& proxy, const Error& why) {
  static_cast<RemoteProxy*>(proxy->get())->kill_proxy(nullptr, link_lost(why));
}

}  // namespace

caf::node_id to_caf(const NodeId& id) {
  caf::uri uri;
  if (auto error = caf::parse("troupe://" + to_string(id), uri)) return {};
  return caf::make_node_id(uri);
}

NodeId node_of(const caf::strong_actor_ptr& actor) {
  auto* proxy = actor ? dynamic_cast<RemoteProxy*>(actor->get()) : nullptr;
  return proxy == nullptr ? NodeId{} : proxy->remote_node().id;
}

void RemoteActors::attach(Transport& transport, const PeerInfo& self) {
  const std::lock_guard lock(mutex_);
  transport_ = &transport;
  self_ = self;
}

void RemoteActors::detach() {
  std::unordered_map<NodeId, NodePtr> nodes;
  {
    const std::lock_guard lock(mutex_);
    transport_ = nullptr;
    watchers_.clear();
    sign_watchers_.clear();
    nodes = nodes_;
  }
  for (const auto& [id, node] : nodes) lose(node, {ErrorCode::aborted, "this node is stopping"});
}

RemoteActors::NodePtr RemoteActors::make_node(const NodeId& id) {
  return std::make_shared<RemoteNode>(id, to_caf(id));
}

RemoteActors::NodePtr& RemoteActors::node(const NodeId& id) {
  auto& known = nodes_[id];
  if (known == nullptr) known = make_node(id);
  return known;
}

Result<void> RemoteActors::call(RemoteNode& node, const Address& to) {
  if (calls_ >= max_calls) {
    const auto count = ++calls_refused_;
    const auto what = "too many nodes are being called at once (" + std::to_string(max_calls) +
                      "); " + to_string(node.id) + " at " + to_string(to) + " was not";
    if (std::has_single_bit(count)) log_warn("{} ({} so far)", what, count);
    return fail(ErrorCode::resource_exhausted, what);
  }
  ++calls_;
  node.state = State::calling;
  node.called = to;
  transport_.load()->connect(to, node.id);
  return {};
}

caf::actor RemoteActors::resolve(const ActorRef& ref) {
  if (ref.node == self_.id) {
    // An actor that has ended gives an invalid handle; a proxy of our own node cannot stand for it.
    return caf::actor_cast<caf::actor>(locals_.find(ref.actor).actor);
  }
  NodePtr found;
  Error why = node_gone(ref.node);
  {
    const std::lock_guard lock(mutex_);
    if (transport_ != nullptr && !gone_.contains(ref.node)) {
      found = node(ref.node);
      if (found->state == State::unknown) {
        if (auto begun = call(*found, ref.control); !begun) {
          why = begun.error();
          nodes_.erase(ref.node);
          found = nullptr;
        }
      }
    }
  }
  const bool lost = found == nullptr;
  if (lost) found = make_node(ref.node);
  const auto handle = proxy(found, ref.actor);
  bool gone = lost;
  if (!lost) {
    const std::lock_guard lock(mutex_);
    gone = found->state == State::gone;
  }
  if (gone) kill(handle, why);
  return caf::actor_cast<caf::actor>(handle);
}

ActorRef RemoteActors::ref(const caf::actor& actor) {
  auto& control = *caf::actor_cast<caf::actor_control_block*>(actor);
  if (actor.node() == system_.node()) {
    locals_.expose(control);
    const std::lock_guard lock(mutex_);
    return {self_.id, self_.control, actor.id()};
  }
  auto* proxy = dynamic_cast<RemoteProxy*>(control.get());
  if (proxy == nullptr) return {};
  const auto& node = proxy->remote_node();
  const std::lock_guard lock(mutex_);
  return {node.id, node.state == State::up ? node.info.control : Address{}, actor.id()};
}

void RemoteActors::watch(const caf::actor& watcher) {
  std::vector<PeerInfo> up;
  {
    const std::lock_guard lock(mutex_);
    watchers_.push_back(watcher);
    for (const auto& [id, node] : nodes_) {
      if (node->state == State::up) up.push_back(node->info);
    }
  }
  for (const auto& peer : up) caf::anon_send(watcher, PeerUp{peer});
}

void RemoteActors::watch_signs(const caf::actor& watcher) {
  const std::lock_guard lock(mutex_);
  sign_watchers_.push_back(watcher);
}

void RemoteActors::serve(ActorNumber number, const caf::actor& actor) {
  locals_.serve(number, *caf::actor_cast<caf::actor_control_block*>(actor));
}

void RemoteActors::drop(const NodeId& node, const Error& why) {
  const std::lock_guard lock(mutex_);
  if (auto* transport = transport_.load(); transport != nullptr) transport->drop(node, why);
}

template <class Note>
void RemoteActors::tell_watchers(const Note& note) {
  std::vector<caf::actor> watchers;
  {
    const std::lock_guard lock(mutex_);
    watchers = watchers_;
  }
  for (const auto& watcher : watchers) caf::anon_send(watcher, note);
}

caf::strong_actor_ptr RemoteActors::proxy(const NodePtr& node, ActorNumber actor) {
  if (auto known = node->proxies.find(actor)) return known;
  caf::actor_config config;
  const auto made = caf::make_actor<RemoteProxy, caf::strong_actor_ptr>(
      actor, node->caf_id, &system_, config, *this, node);
  return node->proxies.add(actor, made);
}

void RemoteActors::monitor(RemoteProxy& proxy) {
  auto& node = proxy.remote_node();
  node.proxies.watch(proxy.id(), caf::strong_actor_ptr(proxy.ctrl()));
  Frame frame;
  frame.header.kind = FrameKind::monitor;
  frame.header.target = proxy.id();
  if (send(node, std::move(frame)) != Sent::lost) return;  // not data: always taken
  proxy.kill_proxy(nullptr, link_lost(node_gone(node.id)));
  node.proxies.unwatch(proxy.id());
}

void RemoteActors::run_inline(const caf::actor& actor) {
  locals_.run_inline(actor.id());
  actor->attach_functor([this, number = actor.id()] { locals_.forget(number); });
}

void RemoteActors::on_peer_up(const PeerInfo& peer) {
  {
    const std::lock_guard lock(mutex_);
    auto& up = *node(peer.id);
    if (up.state == State::calling) --calls_;
    up.info = peer;
    auto* transport = transport_.load();
    for (auto& frame : std::exchange(up.waiting, {})) {
      if (transport != nullptr) (void)transport->send(peer.id, std::move(frame));
    }
    up.state = State::up;  // from now on others send past this mutex
  }
  tell_watchers(PeerUp{peer});
}

void RemoteActors::on_peer_down(const NodeId& peer, const Error& why) {
  last_sender_ = nullptr;
  NodePtr lost;
  {
    const std::lock_guard lock(mutex_);
    gone_.add(peer, std::chrono::steady_clock::now());
    const auto it = nodes_.find(peer);
    if (it != nodes_.end()) lost = it->second;
  }
  if (lost) lose(lost, {why.code, "node " + to_string(peer) + " is down: " + why.what});
  tell_watchers(PeerDown{peer, why});
}

void RemoteActors::on_sign_of_life(const NodeId& peer) {
  std::vector<caf::actor> watchers;
  {
    const std::lock_guard lock(mutex_);
    watchers = sign_watchers_;
  }
  for (const auto& watcher : watchers) caf::anon_send(watcher, SignOfLife{peer});
}

void RemoteActors::on_connect_failed(const Address& to, const Error& why) {
  std::vector<NodePtr> wanted;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, node] : nodes_) {
      if (node->state == State::calling && node->called == to) wanted.push_back(node);
    }
  }
  for (const auto& node : wanted) {
    lose(node,
         {why.code, "node " + to_string(node->id) + " at " + to_string(to) + ": " + why.what});
  }
  tell_watchers(ConnectFailed{to, why});
}

void RemoteActors::lose(const NodePtr& node, const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (node->state == State::calling) --calls_;
    node->state = State::gone;
    node->waiting.clear();
    const auto known = nodes_.find(node->id);
    if (known != nodes_.end() && known->second == node) nodes_.erase(known);
  }
  node->ties.forget_monitors();
  const auto unanswered = pending_.take_asked(node->id);
  for (const auto& proxy : node->proxies.take_all()) kill(proxy, why);
  for (const auto& request : unanswered) {
    request.asker->enqueue(nullptr, request.id.response_id(),
                           caf::make_message(caf::error(caf::sec::request_receiver_down)), nullptr);
  }
}

}  // namespace troupe
