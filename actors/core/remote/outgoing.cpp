// SPDX-License-Identifier: Apache-2.0
//
// What actors of this node send to actors of others.
#include "actors/base/log.hpp"
#include "actors/core/ask.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/core/remote/remote_proxy.hpp"
#include "actors/net/wire/backlog.hpp"

#include <caf/mailbox_element.hpp>
#include <caf/system_messages.hpp>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <utility>

namespace troupe {
namespace {

// A request is answered by its asker's own clock first; this one is for askers without a limit.
constexpr auto answer_grace = std::chrono::seconds(1);

/// For a frame's header, where 0 says that there is no limit.
std::uint32_t as_header(Millis limit) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(limit.count(), 1, UINT32_MAX));
}

void bounce(const caf::mailbox_element& element, const caf::error& why) {
  if (!element.mid.is_request() || !element.sender) return;
  element.sender->enqueue(nullptr, element.mid.response_id(), caf::make_message(why), nullptr);
}

/// What is left until then; 0: no limit is known.
std::uint32_t remaining(const Due& due) {
  if (!due) return 0;
  return as_header(std::chrono::ceil<Millis>(*due - std::chrono::steady_clock::now()));
}

}  // namespace

RemoteActors::Sent RemoteActors::send(RemoteNode& node, Frame frame) {
  const auto pass_on = [&] {
    auto* transport = transport_.load();
    if (transport == nullptr) return Sent::lost;
    return transport->send(node.id, std::move(frame)) ? Sent::taken : Sent::full;
  };
  if (node.state == RemoteNode::State::up) return pass_on();
  const std::lock_guard lock(mutex_);
  if (node.state == RemoteNode::State::up) return pass_on();  // since a moment ago
  if (node.state != RemoteNode::State::calling) return Sent::lost;
  if (node.waiting.size() >= Backlog::max_frames || node.waiting_bytes >= Backlog::max_bytes) {
    return Sent::full;
  }
  node.waiting_bytes += frame.size();
  node.waiting.push_back(std::move(frame));
  return Sent::taken;
}

void RemoteActors::send_reason(FrameKind kind, RemoteNode& node, ActorNumber source,
                               ActorNumber target, caf::message_id id, const caf::error& reason) {
  Frame frame;
  frame.header.kind = kind;
  frame.header.source = source;
  frame.header.target = target;
  frame.header.message_id = id.integer_value();
  frame.header.type = capnp::typeId<msg::Reason>();
  frame.body =
      Msg<msg::Reason>::build([&](msg::Reason::Builder b) { write_reason(b, reason); }).body();
  (void)send(node, std::move(frame));
}

bool RemoteActors::encode(const caf::mailbox_element& element, Frame& frame) const {
  const auto& content = element.content();
  if (content.empty()) {
    frame.header.kind = FrameKind::void_reply;
    return element.mid.is_response();
  }
  const auto* cpp_type = content.size() == 1 ? content.type(0).second : nullptr;
  const auto* type = cpp_type == nullptr ? nullptr : types_.find(*cpp_type);
  if (type == nullptr) return false;
  frame.header.kind = FrameKind::data;
  frame.header.type = type->id;
  auto parts = type->take(content.get(0));
  frame.body = std::move(parts.body);
  frame.blob = std::move(parts.blob);
  frame.header.remaining_ms = remaining(parts.due);
  return true;
}

ActorNumber RemoteActors::number_of(const caf::strong_actor_ptr& sender) {
  if (!sender) return 0;
  return sender->nid == system_.node() ? sender->id() : locals_.expose_foreign(*sender);
}

void RemoteActors::forward(RemoteProxy& proxy, caf::mailbox_element& element) {
  auto& node = proxy.remote_node();
  const auto& content = element.content();
  const auto source = number_of(element.sender);
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
  if (!encode(element, frame)) {
    log_error("only Msg<S> of a registered type can go to another process; dropped for {}",
              to_string(node.id));
    return bounce(element, caf::sec::unexpected_message);
  }
  const bool ours = element.sender && source == element.sender->id();
  if (ours && proxy.last_sender.load(std::memory_order_acquire) != source) {
    locals_.expose(*element.sender);
    proxy.last_sender.store(source, std::memory_order_release);
  }
  const bool asks = element.mid.is_request() && element.sender;
  if (asks) {
    // Who is passed on waits as long as it said itself.
    const auto said = ours ? 0 : frame.header.remaining_ms;
    const auto limit = said == 0 ? AskLimit::current() : Millis(said);
    frame.header.remaining_ms = as_header(limit);
    pending_.add(source, {element.sender, element.mid, node.id,
                          PendingRequests::Clock::now() + limit + answer_grace});
  } else {
    frame.header.remaining_ms = 0;
  }
  const auto outcome = send(node, std::move(frame));
  if (outcome == Sent::taken) return;
  // Where the node was lost meanwhile, the request may have been answered already.
  if (asks && !pending_.take(node.id, source, element.mid)) return;
  refuse(node, element, outcome);
}

void RemoteActors::refuse(RemoteNode& node, const caf::mailbox_element& element, Sent outcome) {
  if (outcome == Sent::lost) return bounce(element, caf::sec::request_receiver_down);
  const auto count = ++refused_;
  if (std::has_single_bit(count)) {  // the 1st, 2nd, 4th, ...: it may be very many
    log_warn("refused {} message(s) because too much waits; the last for {}", count,
             to_string(node.id));
  }
  bounce(element,
         to_caf({ErrorCode::resource_exhausted, "too much waits for node " + to_string(node.id)}));
}

void RemoteActors::link(FrameKind kind, RemoteProxy& proxy, caf::abstract_actor& local) {
  locals_.expose(*local.ctrl());
  Frame frame;
  frame.header.kind = kind;
  frame.header.source = local.id();
  frame.header.target = proxy.id();
  (void)send(proxy.remote_node(), std::move(frame));
}

}  // namespace troupe
