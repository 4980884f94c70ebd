// SPDX-License-Identifier: Apache-2.0
//
// What other nodes send to actors of this one. All of it runs on the transport's thread, but for
// the observers of actors, which run where their actor ends.
#include "actors/base/coarse_clock.hpp"
#include "actors/base/log.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/core/remote/remote_proxy.hpp"

#include <caf/mailbox_element.hpp>
#include <caf/system_messages.hpp>

#include <bit>
#include <utility>

namespace troupe {
namespace {

constexpr auto overdue_check = std::chrono::seconds(1);

}  // namespace

bool RemoteActors::find_sender(const NodeId& id) {
  if (last_sender_ != nullptr && last_sender_->id == id) return true;
  const std::lock_guard lock(mutex_);
  if (gone_.contains(id)) return false;
  last_sender_ = node(id);
  return true;
}

void RemoteActors::on_frame(const NodeId& from, Frame frame) {
  if (!find_sender(from)) return;
  try {
    deliver(last_sender_, frame);
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

void RemoteActors::deliver(const NodePtr& from, Frame& frame) {
  const auto& header = frame.header;
  // CAF takes the content of those for what the number says, and ends the process where it is not.
  if (caf::message_id{header.message_id}.is_stream_message()) {
    return note_broken(from->id, "a message number that no node gives");
  }
  switch (header.kind) {
    case FrameKind::data:
      return deliver_data(from, frame);
    case FrameKind::void_reply:
    case FrameKind::error_reply:
      return deliver_reply(*from, frame);
    case FrameKind::exit:
      return deliver_exit(from, frame);
    case FrameKind::monitor:
      return monitor_for(from, header.target);
    case FrameKind::demonitor:
      return from->ties.demonitor(header.target);
    case FrameKind::down:
      return deliver_down(*from, frame);
    case FrameKind::link:
    case FrameKind::unlink:
      return link_for(from, header);
    case FrameKind::hello:
    case FrameKind::credit:
    case FrameKind::bulk_request:
    case FrameKind::bulk_answer:
      return;  // the transport's own, and those that the node's Bulk takes out before
  }
}

void RemoteActors::deliver_data(const NodePtr& from, Frame& frame) {
  const auto& header = frame.header;
  const caf::message_id id{header.message_id};
  const auto* type = types_.find(header.type);
  LocalActors::Found target;
  if (id.is_response()) {
    target.actor = pending_.take(from->id, header.target, id);
    target.inlined = locals_.is_inlined(header.target);
  } else {
    target = locals_.find(header.target);
  }
  if (type == nullptr || !target.actor) {
    if (type == nullptr) note_broken(from->id, "unknown type " + std::to_string(header.type));
    if (id.is_request()) {
      const auto why =
          type == nullptr ? caf::sec::unexpected_message : caf::sec::request_receiver_down;
      send_reason(FrameKind::error_reply, *from, 0, header.source, id.response_id(), why);
    }
    return;
  }
  auto source = header.source != 0 ? proxy(from, header.source) : nullptr;
  Due due;
  if (header.remaining_ms != 0 && id.is_request()) {
    due = std::chrono::steady_clock::now() + std::chrono::milliseconds(header.remaining_ms);
  }
  target.actor->enqueue(
      type->make(std::move(source), id, std::move(frame.body), std::move(frame.blob), due),
      lane(target.inlined));
}

void RemoteActors::deliver_reply(RemoteNode& from, const Frame& frame) {
  const caf::message_id id{frame.header.message_id};
  const auto asker = pending_.take(from.id, frame.header.target, id);
  if (!asker) return;
  auto content =
      frame.header.kind == FrameKind::void_reply
          ? caf::make_message()
          : caf::make_message(read_reason(*MessageView<msg::Reason>(frame.body.bytes())));
  asker->enqueue(caf::make_mailbox_element(nullptr, id, {}, std::move(content)),
                 lane(locals_.is_inlined(asker->id())));
}

void RemoteActors::deliver_exit(const NodePtr& from, const Frame& frame) {
  const auto target = locals_.find(frame.header.target).actor;
  if (!target) return;
  auto source = frame.header.source != 0 ? proxy(from, frame.header.source) : nullptr;
  auto reason = read_reason(*MessageView<msg::Reason>(frame.body.bytes()));
  caf::exit_msg exit{source ? source->address() : caf::actor_addr(), std::move(reason)};
  target->enqueue(
      caf::make_mailbox_element(std::move(source), caf::make_message_id(), {}, std::move(exit)),
      nullptr);
}

void RemoteActors::deliver_down(RemoteNode& from, const Frame& frame) {
  const auto reason = read_reason(*MessageView<msg::Reason>(frame.body.bytes()));
  const auto ended = from.proxies.find(frame.header.source);
  if (!ended) return;
  static_cast<RemoteProxy*>(ended->get())->kill_proxy(nullptr, reason);
  from.proxies.unwatch(frame.header.source);
}

void RemoteActors::monitor_for(const NodePtr& from, ActorNumber actor) {
  const auto target = locals_.find(actor).actor;
  if (!target) {
    return send_reason(FrameKind::down, *from, actor, 0, {},
                       to_caf(Error{ErrorCode::not_found, "no such actor"}));
  }
  if (!from->ties.monitor(actor)) return;
  target->get()->attach_functor(
      [this, node = std::weak_ptr(from), actor](const caf::error& reason) {
        locals_.forget(actor);
        const auto watcher = node.lock();
        if (!watcher || !watcher->ties.end_monitor(actor)) return;
        send_reason(FrameKind::down, *watcher, actor, 0, {}, reason);
      });
}

void RemoteActors::link_for(const NodePtr& from, const FrameHeader& header) {
  const Ties::Link link{header.source, header.target};
  const bool wanted = header.kind == FrameKind::link;
  if (from->ties.set(link, wanted) || !wanted) return;
  if (!locals_.find(link.ours).actor || !from->ties.add(link)) {
    return note_broken(from->id, "a link to nobody, or one too many");
  }
  const auto theirs = proxy(from, link.theirs);
  // The proxy keeps its observers and its node: these must not keep the node as well.
  theirs->get()->attach_functor([this, node = std::weak_ptr(from), link](const caf::error& reason) {
    const auto still_there = node.lock();
    if (!still_there || !still_there->ties.end(link)) return;
    if (const auto ours = locals_.find(link.ours).actor) {
      ours->enqueue(caf::make_mailbox_element(nullptr, caf::make_message_id(), {},
                                              caf::exit_msg{caf::actor_addr(), reason}),
                    nullptr);
    }
  });
}

void RemoteActors::on_pause() {
  inline_unit_.run();
  const auto now = coarse_now();
  if (now < next_overdue_check_) return;
  next_overdue_check_ = now + overdue_check;
  answer_overdue();
}

void RemoteActors::answer_overdue() {
  for (const auto& request : pending_.take_overdue(std::chrono::steady_clock::now())) {
    request.asker->enqueue(nullptr, request.id.response_id(),
                           caf::make_message(caf::error(caf::sec::request_timeout)), nullptr);
  }
}

}  // namespace troupe
