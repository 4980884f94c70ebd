// SPDX-License-Identifier: Apache-2.0
#include "actors/core/remote/remote_actors.hpp"

#include "actors/base/log.hpp"
#include "actors/core/ask.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_proxy.hpp"

#include <caf/actor_cast.hpp>
#include <caf/actor_config.hpp>
#include <caf/actor_registry.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/send.hpp>
#include <caf/system_messages.hpp>
#include <caf/uri.hpp>

#include <bit>

namespace troupe {
namespace {

// A request is answered by its asker's own clock first; this one is for askers without a limit.
constexpr auto answer_grace = std::chrono::seconds(1);
constexpr auto overdue_check = std::chrono::seconds(1);

constexpr std::size_t max_links = 65536;  // of one peer's actors to ours

caf::error link_lost(const Error& why) { return to_caf({ErrorCode::unavailable, why.what}); }

caf::error node_gone(const NodeId& node) {
  return link_lost({ErrorCode::unavailable, "node " + to_string(node) + " is gone"});
}

void answer_with(const caf::strong_actor_ptr& asker, caf::message_id request, caf::error why) {
  asker->enqueue(nullptr, request.response_id(), caf::make_message(std::move(why)), nullptr);
}

void bounce(const caf::mailbox_element& element, const caf::error& why) {
  if (element.mid.is_request() && element.sender) answer_with(element.sender, element.mid, why);
}

/// A weak pointer keeps its actor's memory, so those of ended actors go now and then: whenever the
/// table has come to a power of two, which costs little for each entry.
template <class Table>
void drop_ended(Table& table) {
  if (table.size() < 1024 || !std::has_single_bit(table.size())) return;
  std::erase_if(table, [](const auto& entry) {
    return entry.second == nullptr || entry.second.get()->strong_refs == 0;
  });
}

NodeId from_caf(const caf::node_id& id) {
  auto text = caf::to_string(id);  // troupe://name/incarnation
  const auto slash = text.rfind('/');
  const auto start = text.find("://");
  if (start == std::string::npos || slash <= start + 2) return {};
  return {text.substr(start + 3, slash - start - 3), std::stoull(text.substr(slash + 1))};
}

}  // namespace

caf::node_id to_caf(const NodeId& id) {
  caf::uri uri;
  if (auto error = caf::parse("troupe://" + to_string(id), uri)) return {};
  return caf::make_node_id(uri);
}

void RemoteActors::attach(Transport& transport, const PeerInfo& self) {
  const std::lock_guard lock(mutex_);
  transport_ = &transport;
  self_ = self;
}

void RemoteActors::detach() {
  std::vector<NodeId> nodes;
  {
    const std::lock_guard lock(mutex_);
    transport_ = nullptr;
    watchers_.clear();
    for (const auto& [node, proxies] : proxies_) nodes.push_back(node);
  }
  for (const auto& node : nodes) lose(node, {ErrorCode::aborted, "this node is stopping"});
}

RemoteActors::PendingKey RemoteActors::key(ActorNumber asker, caf::message_id id) {
  return {asker, id.request_id().integer_value()};
}

caf::actor RemoteActors::resolve(const ActorRef& ref) {
  if (ref.node == self_.id) {
    // An actor that has ended gives an invalid handle; a proxy of our own node cannot stand for it.
    return caf::actor_cast<caf::actor>(local(ref.actor));
  }
  bool call = false;
  bool gone = false;
  {
    const std::lock_guard lock(mutex_);
    gone = gone_.contains(ref.node) || transport_ == nullptr;
    call = !gone && !peers_.contains(ref.node) && !calls_.contains(ref.node);
    if (call) {
      calls_[ref.node].to = ref.control;
      transport_->connect(ref.control, ref.node);
    }
  }
  auto handle = proxy(ref.node, ref.actor);
  if (gone) static_cast<RemoteProxy*>(handle->get())->kill_proxy(nullptr, node_gone(ref.node));
  return caf::actor_cast<caf::actor>(handle);
}

ActorRef RemoteActors::ref(const caf::actor& actor) {
  const auto number = actor.id();
  const std::lock_guard lock(mutex_);
  if (actor.node() == system_.node()) {
    reachable_[number] = caf::actor_cast<caf::weak_actor_ptr>(actor);
    return {self_.id, self_.control, number};
  }
  const auto node = from_caf(actor.node());
  const auto peer = peers_.find(node);
  return {node, peer == peers_.end() ? Address{} : peer->second.control, number};
}

void RemoteActors::watch(const caf::actor& watcher) {
  std::vector<PeerInfo> up;
  {
    const std::lock_guard lock(mutex_);
    watchers_.push_back(watcher);
    for (const auto& [id, peer] : peers_) up.push_back(peer);
  }
  for (const auto& peer : up) caf::anon_send(watcher, PeerUp{peer});
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

caf::strong_actor_ptr RemoteActors::known_proxy(const NodeId& node, ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  const auto peer = proxies_.find(node);
  if (peer == proxies_.end()) return nullptr;
  const auto it = peer->second.find(actor);
  return it == peer->second.end() ? nullptr : it->second.lock();
}

caf::strong_actor_ptr RemoteActors::proxy(const NodeId& node, ActorNumber actor) {
  if (auto known = known_proxy(node, actor)) return known;
  caf::actor_config config;
  auto made = caf::make_actor<RemoteProxy, caf::strong_actor_ptr>(actor, to_caf(node), &system_,
                                                                  config, *this, node);
  const std::lock_guard lock(mutex_);
  auto& known = proxies_[node];
  drop_ended(known);
  auto& slot = known[actor];
  if (auto other = slot.lock()) return other;  // somebody else was faster
  slot = caf::weak_actor_ptr(made.get(), true);
  return made;
}

void RemoteActors::monitor(const NodeId& node, RemoteProxy& proxy) {
  bool gone = false;
  {
    const std::lock_guard lock(mutex_);
    gone = gone_.contains(node) || transport_ == nullptr;
    if (!gone) watched_[{node, proxy.id()}] = caf::strong_actor_ptr(proxy.ctrl());
  }
  if (gone) return proxy.kill_proxy(nullptr, node_gone(node));
  Frame frame;
  frame.header.kind = FrameKind::monitor;
  frame.header.target = proxy.id();
  (void)send(node, std::move(frame));  // not data: always taken
}

caf::strong_actor_ptr RemoteActors::local(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  const auto it = reachable_.find(actor);
  return it == reachable_.end() ? nullptr : it->second.lock();
}

void RemoteActors::run_inline(const caf::actor& actor) {
  const std::lock_guard lock(mutex_);
  inline_.insert(actor.id());
}

caf::execution_unit* RemoteActors::lane_of(ActorNumber actor) {
  const std::lock_guard lock(mutex_);
  return inline_.contains(actor) ? &inline_unit_ : nullptr;
}

caf::strong_actor_ptr RemoteActors::take_pending(const NodeId& from, ActorNumber asker,
                                                 caf::message_id id) {
  const std::lock_guard lock(mutex_);
  const auto it = pending_.find(key(asker, id));
  if (it == pending_.end() || it->second.asked != from) return nullptr;
  auto result = std::move(it->second.asker);
  pending_.erase(it);
  return result;
}

bool RemoteActors::send(const NodeId& to, Frame frame) {
  const std::lock_guard lock(mutex_);
  if (transport_ == nullptr) return true;
  if (peers_.contains(to)) return transport_->send(to, std::move(frame));
  const auto call = calls_.find(to);
  if (call == calls_.end()) return true;
  auto& [address, waiting, bytes] = call->second;
  if (waiting.size() >= Backlog::max_frames || bytes >= Backlog::max_bytes) return false;
  bytes += frame.size();
  waiting.push_back(std::move(frame));
  return true;
}

void RemoteActors::send_reason(FrameKind kind, const NodeId& to, ActorNumber source,
                               ActorNumber target, caf::message_id id, const caf::error& reason) {
  Frame frame;
  frame.header.kind = kind;
  frame.header.source = source;
  frame.header.target = target;
  frame.header.message_id = id.integer_value();
  frame.header.type = capnp::typeId<msg::Reason>();
  frame.body =
      Msg<msg::Reason>::build([&](msg::Reason::Builder b) { write_reason(b, reason); }).body();
  (void)send(to, std::move(frame));  // not data: always taken
}

bool RemoteActors::encode(const caf::mailbox_element& element, Frame& frame) const {
  const auto& content = element.content();
  if (content.empty()) {
    frame.header.kind = FrameKind::void_reply;
    return element.mid.is_response();
  }
  const auto* cpp_type = content.size() == 1 ? content.type(0).second : nullptr;
  const auto* type = cpp_type == nullptr ? nullptr : types_.find(std::type_index(*cpp_type));
  if (type == nullptr) return false;
  frame.header.kind = FrameKind::data;
  frame.header.type = type->id;
  std::tie(frame.body, frame.blob) = type->take(content.get(0));
  return true;
}

void RemoteActors::forward(const NodeId& node, caf::abstract_actor& proxy,
                           caf::mailbox_element& element) {
  const auto& content = element.content();
  const auto source = element.sender ? element.sender->id() : 0;
  if (content.match_elements<caf::exit_msg>()) {
    const auto& exit = content.get_as<caf::exit_msg>(0);
    return send_reason(FrameKind::exit, node, source, proxy.id(), {}, exit.reason);
  }
  if (element.mid.is_response() && content.match_elements<caf::error>()) {
    return send_reason(FrameKind::error_reply, node, source, proxy.id(), element.mid,
                       content.get_as<caf::error>(0));
  }
  Frame frame;
  frame.header.source = source;
  frame.header.target = proxy.id();
  frame.header.message_id = element.mid.integer_value();
  if (element.mid.is_request()) {
    frame.header.remaining_ms = static_cast<std::uint32_t>(AskLimit::current().count());
  }
  if (!encode(element, frame)) {
    log_error("only Msg<S> of a registered type can go to another process; dropped for {}",
              to_string(node));
    return bounce(element, caf::sec::unexpected_message);
  }
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    lost = transport_ == nullptr || (!peers_.contains(node) && !calls_.contains(node));
    if (!lost && element.sender) {
      drop_ended(reachable_);
      reachable_.try_emplace(source, element.sender.get(), true);
      if (element.mid.is_request()) {
        const auto due = std::chrono::steady_clock::now() + AskLimit::current() + answer_grace;
        pending_[key(source, element.mid)] = {element.sender, element.mid, node, due};
      }
    }
  }
  if (lost) return bounce(element, caf::sec::request_receiver_down);
  if (send(node, std::move(frame))) return;
  (void)take_pending(node, source, element.mid);
  note_refused(node);
  bounce(element,
         to_caf({ErrorCode::resource_exhausted, "too much waits for node " + to_string(node)}));
}

void RemoteActors::note_refused(const NodeId& node) {
  const auto count = ++refused_;
  if (std::has_single_bit(count)) {  // the 1st, 2nd, 4th, ...: it may be very many
    log_warn("refused {} message(s) because too much waits; the last for {}", count,
             to_string(node));
  }
}

void RemoteActors::on_peer_up(const PeerInfo& peer) {
  {
    const std::lock_guard lock(mutex_);
    peers_[peer.id] = peer;
    const auto call = calls_.find(peer.id);
    if (call != calls_.end() && transport_ != nullptr) {
      for (auto& frame : call->second.waiting) (void)transport_->send(peer.id, std::move(frame));
      calls_.erase(call);
    }
  }
  tell_watchers(PeerUp{peer});
}

void RemoteActors::on_peer_down(const NodeId& peer, const Error& why) {
  lose(peer, {why.code, "node " + to_string(peer) + " is down: " + why.what});
  tell_watchers(PeerDown{peer, why});
}

void RemoteActors::on_connect_failed(const Address& to, const Error& why) {
  std::vector<NodeId> wanted;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [node, call] : calls_) {
      if (call.to == to) wanted.push_back(node);
    }
  }
  for (const auto& node : wanted) {
    lose(node, {why.code, "node " + to_string(node) + " at " + to_string(to) + ": " + why.what});
  }
  tell_watchers(ConnectFailed{to, why});
}

void RemoteActors::lose(const NodeId& node, const Error& why) {
  std::map<ActorNumber, caf::weak_actor_ptr> proxies;
  std::vector<Pending> unanswered;
  {
    const std::lock_guard lock(mutex_);
    peers_.erase(node);
    calls_.erase(node);
    gone_.insert(node);
    proxies.swap(proxies_[node]);
    proxies_.erase(node);
    std::erase_if(monitored_, [&](const auto& entry) { return entry.first.first == node; });
    std::erase_if(pending_, [&](auto& entry) {
      const bool hit = entry.second.asked == node;
      if (hit) unanswered.push_back(std::move(entry.second));
      return hit;
    });
  }
  // Kept until here: those who watch them must hear of it.
  std::map<std::pair<NodeId, ActorNumber>, caf::strong_actor_ptr> watched;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(watched_, [&](auto& entry) {
      const bool hit = entry.first.first == node;
      if (hit) watched.insert(entry);
      return hit;
    });
  }
  const auto reason = link_lost(why);
  for (const auto& [number, weak] : proxies) {
    if (auto proxy = weak.lock())
      static_cast<RemoteProxy*>(proxy->get())->kill_proxy(nullptr, reason);
  }
  for (const auto& request : unanswered) {
    answer_with(request.asker, request.id, caf::sec::request_receiver_down);
  }
}

void RemoteActors::on_frame(const NodeId& from, Frame frame) {
  try {
    deliver(from, frame);
  } catch (const kj::Exception& e) {  // decode boundary
    note_broken(from, e.getDescription().cStr());
  } catch (const std::exception& e) {
    note_broken(from, e.what());
  }
}

void RemoteActors::note_broken(const NodeId& from, const std::string& what) {
  const auto count = ++broken_;
  if (std::has_single_bit(count)) {  // the 1st, 2nd, 4th, ...: a peer may send very many
    log_warn("dropped {} broken message(s); the last from {}: {}", count, to_string(from), what);
  }
}

void RemoteActors::deliver(const NodeId& from, const Frame& frame) {
  const auto& header = frame.header;
  const caf::message_id id{header.message_id};
  // CAF takes the content of those for what the number says, and ends the process where it is not.
  if (id.is_stream_message()) return note_broken(from, "a message number that no node gives");
  switch (header.kind) {
    case FrameKind::data:
      return deliver_data(from, frame);
    case FrameKind::void_reply:
    case FrameKind::error_reply: {
      const auto asker = take_pending(from, header.target, id);
      if (!asker) return;
      auto content =
          header.kind == FrameKind::void_reply
              ? caf::make_message()
              : caf::make_message(read_reason(*MessageView<msg::Reason>(frame.body.bytes())));
      return asker->enqueue(caf::make_mailbox_element(nullptr, id, {}, std::move(content)),
                            lane_of(asker->id()));
    }
    case FrameKind::exit: {
      const auto target = local(header.target);
      if (!target) return;
      auto source = header.source != 0 ? proxy(from, header.source) : nullptr;
      auto reason = read_reason(*MessageView<msg::Reason>(frame.body.bytes()));
      caf::exit_msg exit{source ? source->address() : caf::actor_addr(), std::move(reason)};
      return target->enqueue(
          caf::make_mailbox_element(std::move(source), caf::make_message_id(), {}, std::move(exit)),
          nullptr);
    }
    case FrameKind::monitor:
      return monitor_for(from, header.target);
    case FrameKind::down: {
      const auto reason = read_reason(*MessageView<msg::Reason>(frame.body.bytes()));
      const auto ended = known_proxy(from, header.source);
      if (!ended) return;
      static_cast<RemoteProxy*>(ended->get())->kill_proxy(nullptr, reason);
      const std::lock_guard lock(mutex_);
      watched_.erase({from, header.source});
      return;
    }
    case FrameKind::link:
    case FrameKind::unlink:
      return link_for(from, header);
    case FrameKind::demonitor: {
      const std::lock_guard lock(mutex_);
      const auto it = monitored_.find({from, header.target});
      if (it != monitored_.end()) it->second = false;
      return;
    }
    case FrameKind::hello:
    case FrameKind::credit:
    case FrameKind::bulk_request:
    case FrameKind::bulk_answer:
      return;  // the transport's own, and those that the node's Bulk takes out before
  }
}

void RemoteActors::deliver_data(const NodeId& from, const Frame& frame) {
  const auto& header = frame.header;
  const caf::message_id id{header.message_id};
  const auto* type = types_.find(header.type);
  const auto target =
      id.is_response() ? take_pending(from, header.target, id) : local(header.target);
  if (type == nullptr || !target) {
    if (type == nullptr) note_broken(from, "unknown type " + std::to_string(header.type));
    if (id.is_request()) {
      const auto why =
          type == nullptr ? caf::sec::unexpected_message : caf::sec::request_receiver_down;
      send_reason(FrameKind::error_reply, from, 0, header.source, id.response_id(), why);
    }
    return;
  }
  auto content = type->make(frame.body, frame.blob);
  auto source = header.source != 0 ? proxy(from, header.source) : nullptr;
  target->enqueue(caf::make_mailbox_element(std::move(source), id, {}, std::move(content)),
                  lane_of(target->id()));
}

void RemoteActors::on_pause() {
  inline_unit_.run();
  const auto now = std::chrono::steady_clock::now();
  if (now < next_overdue_check_) return;
  next_overdue_check_ = now + overdue_check;
  answer_overdue();
}

void RemoteActors::answer_overdue() {
  std::vector<Pending> overdue;
  {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    std::erase_if(pending_, [&](auto& entry) {
      const bool hit = entry.second.due < now;
      if (hit) overdue.push_back(std::move(entry.second));
      return hit;
    });
  }
  for (const auto& request : overdue) {
    answer_with(request.asker, request.id, caf::sec::request_timeout);
  }
}

void RemoteActors::link(FrameKind kind, const NodeId& node, const caf::abstract_actor& proxy,
                        caf::abstract_actor& local) {
  {
    const std::lock_guard lock(mutex_);
    reachable_.try_emplace(local.id(), local.ctrl(), true);
  }
  Frame frame;
  frame.header.kind = kind;
  frame.header.source = local.id();
  frame.header.target = proxy.id();
  (void)send(node, std::move(frame));  // not data: always taken
}

void RemoteActors::link_for(const NodeId& from, const FrameHeader& header) {
  const Link link{from, header.source, header.target};
  {
    const std::lock_guard lock(mutex_);
    const auto known = links_.find(link);
    if (known != links_.end()) known->second = header.kind == FrameKind::link;
    if (known != links_.end() || header.kind == FrameKind::unlink) return;
    // A link keeps a proxy, so there may not be as many as a peer can make up numbers.
    const auto ours = reachable_.find(header.target);
    if (ours == reachable_.end() || link_counts_[from] >= max_links) {
      return note_broken(from, "a link to nobody, or one too many");
    }
    ++link_counts_[from];
    links_.emplace(link, true);
  }
  const auto theirs = proxy(from, header.source);
  theirs->get()->attach_functor([this, link](const caf::error& reason) {
    {
      const std::lock_guard lock(mutex_);
      const auto it = links_.find(link);
      if (it == links_.end()) return;
      const bool wanted = it->second;
      links_.erase(it);
      const auto count = link_counts_.find(std::get<0>(link));
      if (--count->second == 0) link_counts_.erase(count);
      if (!wanted) return;  // taken back
    }
    if (const auto ours = local(std::get<2>(link))) {
      ours->enqueue(caf::make_mailbox_element(nullptr, caf::make_message_id(), {},
                                              caf::exit_msg{caf::actor_addr(), reason}),
                    nullptr);
    }
  });
}

void RemoteActors::monitor_for(const NodeId& from, ActorNumber actor) {
  const auto target = local(actor);
  if (!target) {
    return send_reason(FrameKind::down, from, actor, 0, {},
                       to_caf(Error{ErrorCode::not_found, "no such actor"}));
  }
  {
    const std::lock_guard lock(mutex_);
    // One observer for each peer and actor, however often a peer asks and takes it back.
    const auto [it, first] = monitored_.try_emplace({from, actor});
    it->second = true;
    if (!first) return;
  }
  target->get()->attach_functor([this, from, actor](const caf::error& reason) {
    {
      const std::lock_guard lock(mutex_);
      reachable_.erase(actor);
      const auto it = monitored_.find({from, actor});
      if (it == monitored_.end()) return;
      const bool wanted = it->second;
      monitored_.erase(it);
      if (!wanted) return;  // they do not want to know any more
    }
    send_reason(FrameKind::down, from, actor, 0, {}, reason);
  });
}

}  // namespace troupe
