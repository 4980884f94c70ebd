// SPDX-License-Identifier: Apache-2.0
//
// Faults are made on the receiving side: what the inner transport reports goes into a queue that is
// ordered by the time at which it is due, and a thread of our own hands it on. A frame travels with
// a checksum behind its blob, which stands for the MAC that frames between processes carry.
#include "actors/net/faulty_transport.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr auto pause_at_least = std::chrono::milliseconds(250);  // as every transport does

/// What the transport between processes asks of every frame, whoever sent it.
bool could_be_a_frame(const Frame& frame) {
  return check_frame_header(frame.header) && frame.header.body_bytes == frame.body.size() &&
         frame.header.blob_bytes == frame.blob.size();
}

}  // namespace

Result<PeerInfo> FaultyTransport::start(TransportHandler& handler) {
  handler_ = &handler;
  auto self = inner_->start(*this);
  if (!self) return self;
  const std::lock_guard lock(network_.mutex_);
  self_ = *self;
  network_.nodes_[id_] = this;
  thread_ = std::thread([this] { run(); });
  return self;
}

void FaultyTransport::connect(const Address& to, std::optional<NodeId> expected) {
  const std::lock_guard lock(network_.mutex_);
  if (dice_.falls(network_.plan_.refuse)) {
    ++network_.counts_.refused_calls;
    return post(Clock::now(), Failed{to, {ErrorCode::unavailable, "refused by plan"}});
  }
  for (const auto& [id, node] : network_.nodes_) {
    if (node->self_.control == to && network_.is_dead(id_, id)) {
      return post(Clock::now(), Failed{to, {ErrorCode::aborted, "was declared dead"}});
    }
  }
  inner_->connect(to, std::move(expected));
}

bool FaultyTransport::send(const NodeId& to, Frame frame) {
  const std::lock_guard lock(network_.mutex_);
  if (network_.is_dead(id_, to)) return true;
  auto& sequence = network_.path(id_, to).next_sequence;
  const bool taken = inner_->send(to, seal(std::move(frame), sequence));
  if (taken) ++sequence;
  return taken;
}

void FaultyTransport::drop(const NodeId& id, const Error& why) {
  const std::lock_guard lock(network_.mutex_);
  network_.sever(id, id_, why);
}

void FaultyTransport::stop() {
  inner_->stop();  // its thread may be in here, so not under the mutex
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(network_.mutex_);
    network_.nodes_.erase(id_);
    stopping_ = true;
  }
  ready_.notify_one();
  thread_.join();
}

void FaultyTransport::on_peer_up(const PeerInfo& peer) {
  const std::lock_guard lock(network_.mutex_);
  post(Clock::now(), Up{peer});
}

void FaultyTransport::on_peer_down(const NodeId& peer, const Error& why) {
  const std::lock_guard lock(network_.mutex_);
  if (!network_.declare_dead(id_, peer)) return;  // it knows already
  auto& path = network_.path(peer, id_);
  release(path);
  path.loses_queue = false;  // an orderly end
  lose(path, why);
}

void FaultyTransport::on_connect_failed(const Address& to, const Error& why) {
  const std::lock_guard lock(network_.mutex_);
  post(Clock::now(), Failed{to, why});
}

void FaultyTransport::on_sign_of_life(const NodeId& peer) {
  const std::lock_guard lock(network_.mutex_);
  if (!network_.is_dead(peer, id_) && !network_.path(peer, id_).blocked) {
    post(Clock::now(), Sign{peer});
  }
}

void FaultyTransport::on_frame(const NodeId& from, Frame frame) {
  const std::lock_guard lock(network_.mutex_);
  if (network_.is_dead(from, id_)) return;
  auto& path = network_.path(from, id_);
  ++network_.counts_.frames;
  ++path.frames;
  if (network_.strikes(path)) return;
  if (path.dice.falls(network_.plan_.cut)) {
    return network_.sever(from, id_, {ErrorCode::unavailable, "cut by chance"});
  }
  if (path.dice.falls(network_.plan_.duplicate)) {
    ++network_.counts_.duplicated;
    schedule(path, frame);
  }
  schedule(path, std::move(frame));
}

void FaultyTransport::schedule(FaultyNetwork::Path& path, Frame frame) {
  const auto& plan = network_.plan_;
  auto& counts = network_.counts_;
  if (path.blocked) return path.held.push_back(std::move(frame));
  if (path.dice.falls(plan.corrupt)) {
    ++counts.corrupted;
    damage(frame, path.dice);
  }
  const auto some_time = [&] {
    return std::chrono::microseconds(
        path.dice.below(static_cast<std::uint64_t>(plan.longest_delay.count()) + 1));
  };
  auto due = Clock::now();
  if (path.dice.falls(plan.delay)) {
    ++counts.delayed;
    due += some_time();
  }
  if (plan.frames_per_s > 0) {
    due = std::max(due, next_slot_);
    next_slot_ = due + std::chrono::nanoseconds(1'000'000'000 / plan.frames_per_s);
  }
  due = std::max(due, path.latest);
  if (path.dice.falls(plan.reorder)) {
    ++counts.reordered;
    due += some_time();
  } else {
    path.latest = due;
  }
  post(due, Arrival{path.from, std::move(frame)});
}

void FaultyTransport::lose(FaultyNetwork::Path& path, const Error& why) {
  if (path.loses_queue) {
    std::erase_if(queue_, [&](const auto& entry) {
      const auto* arrival = std::get_if<Arrival>(&entry.second);
      return arrival != nullptr && arrival->from == path.from;
    });
    path.latest = Clock::now();
  }
  path.held.clear();
  post(std::max(Clock::now(), path.latest), Down{path.from, why});
}

void FaultyTransport::block(FaultyNetwork::Path& path) {
  path.blocked = true;
  post(Clock::now() + network_.plan_.silence, Silence{path.from, ++path.blocks});
}

void FaultyTransport::release(FaultyNetwork::Path& path) {
  path.blocked = false;
  for (auto& frame : std::exchange(path.held, {})) schedule(path, std::move(frame));
}

void FaultyTransport::post(Clock::time_point due, News news) {
  queue_.emplace(due, std::move(news));
  ready_.notify_one();
}

void FaultyTransport::run() {
  std::unique_lock lock(network_.mutex_);
  while (!stopping_) {
    const auto now = Clock::now();
    const auto due = queue_.empty() ? now + pause_at_least : queue_.begin()->first;
    if (due > now) {
      ready_.wait_until(lock, std::min(due, now + pause_at_least));
      if (Clock::now() < now + pause_at_least) continue;
      lock.unlock();
      handler_->on_pause();
      lock.lock();
      continue;
    }
    auto news = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    auto judged = judge(std::move(news));
    lock.unlock();
    for (auto& one : judged) tell(std::move(one));
    handler_->on_pause();
    lock.lock();
  }
}

std::vector<FaultyTransport::News> FaultyTransport::judge(News news) {
  std::vector<News> out;
  if (auto* arrival = std::get_if<Arrival>(&news)) {
    judge_arrival(std::move(*arrival), out);
  } else if (const auto* silence = std::get_if<Silence>(&news)) {
    auto& path = network_.path(silence->from, id_);
    if (path.blocked && path.blocks == silence->block) {
      network_.sever(silence->from, id_, {ErrorCode::timeout, "silent for too long"});
    }
  } else if (const auto* up = std::get_if<Up>(&news)) {
    if (up_.insert(up->peer.id).second) out.push_back(std::move(news));
  } else if (const auto* down = std::get_if<Down>(&news)) {
    if (up_.erase(down->peer) > 0) out.push_back(std::move(news));
  } else {
    out.push_back(std::move(news));
  }
  return out;
}

void FaultyTransport::judge_arrival(Arrival arrival, std::vector<News>& out) {
  if (!up_.contains(arrival.from)) return;  // late: its node is down already
  const auto seal = unseal(arrival.frame);
  if (!network_.plan_.checked) {
    if (could_be_a_frame(arrival.frame)) return out.push_back(std::move(arrival));
    ++network_.counts_.dropped_corrupt;
    return;
  }
  if (!seal.good) {
    ++network_.counts_.dropped_corrupt;
    if (network_.is_dead(arrival.from, id_)) return;
    return network_.sever(arrival.from, id_, {ErrorCode::corrupt, "a frame with a wrong checksum"});
  }
  const auto pushed = network_.path(arrival.from, id_)
                          .reorder.push(seal.sequence, std::move(arrival.frame), [&](Frame frame) {
                            out.push_back(Arrival{arrival.from, std::move(frame)});
                          });
  if (!pushed) ++network_.counts_.dropped_duplicates;
}

void FaultyTransport::tell(News news) {
  if (auto* arrival = std::get_if<Arrival>(&news)) {
    handler_->on_frame(arrival->from, std::move(arrival->frame));
  } else if (const auto* up = std::get_if<Up>(&news)) {
    handler_->on_peer_up(up->peer);
  } else if (const auto* down = std::get_if<Down>(&news)) {
    handler_->on_peer_down(down->peer, down->why);
  } else if (const auto* sign = std::get_if<Sign>(&news)) {
    handler_->on_sign_of_life(sign->from);
  } else if (const auto* failed = std::get_if<Failed>(&news)) {
    handler_->on_connect_failed(failed->to, failed->why);
  }
}

}  // namespace troupe
