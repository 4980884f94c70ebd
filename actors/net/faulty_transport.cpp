// SPDX-License-Identifier: Apache-2.0
//
// Faults are made on the receiving side: what the inner transport reports goes into a queue that is
// ordered by the time at which it is due, and a thread of our own hands it on. A frame travels with
// a checksum behind its blob, which stands for the MAC that frames between processes carry.
#include "actors/net/faulty_transport.hpp"

#include "actors/net/wire/reorder.hpp"

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <variant>
#include <vector>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto pause_at_least = std::chrono::milliseconds(250);  // as every transport does

/// What the transport between processes asks of every frame, whoever sent it.
bool could_be_a_frame(const Frame& frame) {
  return check_frame_header(frame.header) && frame.header.body_bytes == frame.body.size() &&
         frame.header.blob_bytes == frame.blob.size();
}

std::pair<NodeId, NodeId> unordered(const NodeId& a, const NodeId& b) {
  return a < b ? std::pair(a, b) : std::pair(b, a);
}

}  // namespace

/// The way from one node to another.
struct FaultyNetwork::Path {
  Path(std::uint64_t seed, NodeId sender, NodeId receiver)
      : from(std::move(sender)),
        to(std::move(receiver)),
        dice(seed, from.name + ">" + to.name),
        loses_queue(dice.falls(0.5)) {}

  NodeId from;
  NodeId to;
  Dice dice;
  bool loses_queue;  ///< when it is cut, what has not arrived never does
  std::uint64_t next_sequence = 0;
  std::uint64_t frames = 0;  ///< that have come
  std::size_t next_event = 0;
  Clock::time_point latest{};  ///< when the last of them is due
  Reorder<Frame> reorder;
  bool blocked = false;
  std::uint64_t blocks = 0;  ///< partitions so far
  std::vector<Frame> held;
};

class FaultyTransport final : public Transport, public TransportHandler {
 public:
  FaultyTransport(FaultyNetwork& network, std::unique_ptr<Transport> inner, NodeId self)
      : network_(network),
        inner_(std::move(inner)),
        id_(std::move(self)),
        dice_(network.plan_.seed, id_.name) {}
  ~FaultyTransport() override { stop(); }

  Result<PeerInfo> start(TransportHandler& handler) override;
  void connect(const Address& to, std::optional<NodeId> expected) override;
  bool send(const NodeId& to, Frame frame) override;
  void drop(const NodeId& id, const Error& why) override;
  void stop() override;

  void on_peer_up(const PeerInfo& peer) override;
  void on_peer_down(const NodeId& peer, const Error& why) override;
  void on_connect_failed(const Address& to, const Error& why) override;
  void on_frame(const NodeId& from, Frame frame) override;
  void on_sign_of_life(const NodeId& peer) override;

  // For the network, under its mutex.
  void lose(FaultyNetwork::Path& path, const Error& why);
  void block(FaultyNetwork::Path& path);
  void release(FaultyNetwork::Path& path);

 private:
  struct Up {
    PeerInfo peer;
  };
  struct Down {
    NodeId peer;
    Error why;
  };
  struct Failed {
    Address to;
    Error why;
  };
  struct Arrival {
    NodeId from;
    Frame frame;
  };
  struct Silence {
    NodeId from;
    std::uint64_t block;
  };
  struct Sign {
    NodeId from;
  };
  using News = std::variant<Up, Down, Failed, Arrival, Silence, Sign>;

  void post(Clock::time_point due, News news);
  void schedule(FaultyNetwork::Path& path, Frame frame);
  void run();
  /// What the handler is to be told of it, in order.
  [[nodiscard]] std::vector<News> judge(News news);
  void judge_arrival(Arrival arrival, std::vector<News>& out);
  void tell(News news);

  FaultyNetwork& network_;
  std::unique_ptr<Transport> inner_;
  NodeId id_;
  Dice dice_;
  PeerInfo self_;
  TransportHandler* handler_ = nullptr;
  std::condition_variable ready_;
  std::multimap<Clock::time_point, News> queue_;  // equal times: in the order of posting
  std::set<NodeId> up_;                           // as the handler knows it
  Clock::time_point next_slot_{};
  bool stopping_ = false;
  std::thread thread_;
};

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
  if (!network_.dead_.insert(unordered(id_, peer)).second) return;  // it knows already
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

FaultyNetwork::FaultyNetwork(FaultPlan plan) : plan_(std::move(plan)) {}
FaultyNetwork::~FaultyNetwork() = default;

std::unique_ptr<Transport> FaultyNetwork::make(PeerInfo self) {
  auto id = self.id;
  return wrap(LoopbackHub::make(std::move(self)), std::move(id));
}

std::unique_ptr<Transport> FaultyNetwork::wrap(std::unique_ptr<Transport> inner, NodeId self) {
  return std::make_unique<FaultyTransport>(*this, std::move(inner), std::move(self));
}

FaultCounts FaultyNetwork::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

FaultyNetwork::Path& FaultyNetwork::path(const NodeId& from, const NodeId& to) {
  auto& slot = paths_[{from, to}];
  if (!slot) slot = std::make_unique<Path>(plan_.seed, from, to);
  return *slot;
}

bool FaultyNetwork::is_dead(const NodeId& a, const NodeId& b) const {
  return dead_.contains(unordered(a, b));
}

/// Lets the planned events of a path happen that are due; true where it is cut by one.
bool FaultyNetwork::strikes(Path& path) {
  for (; path.next_event < plan_.events.size(); ++path.next_event) {
    const auto& event = plan_.events[path.next_event];
    if (event.from != path.from.name || event.to != path.to.name) continue;
    if (event.after >= path.frames) return false;
    apply(event.kind, path.from, path.to);
    if (event.kind == FaultEvent::Kind::cut) return true;
  }
  return false;
}

void FaultyNetwork::strike(FaultEvent::Kind kind, const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  for (const auto& [sender, a] : nodes_) {
    for (const auto& [receiver, b] : nodes_) {
      if (sender.name == from && receiver.name == to) apply(kind, sender, receiver);
    }
  }
}

void FaultyNetwork::apply(FaultEvent::Kind kind, const NodeId& from, const NodeId& to) {
  if (is_dead(from, to)) return;
  const auto node = nodes_.find(to);
  switch (kind) {
    case FaultEvent::Kind::cut:
      return sever(from, to, {ErrorCode::unavailable, "cut by plan"});
    case FaultEvent::Kind::partition:
      if (node != nodes_.end()) node->second->block(path(from, to));
      return;
    case FaultEvent::Kind::heal:
      if (node != nodes_.end()) node->second->release(path(from, to));
      return;
  }
}

void FaultyNetwork::sever(const NodeId& a, const NodeId& b, const Error& why) {
  if (!dead_.insert(unordered(a, b)).second) return;
  ++counts_.cut;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const auto node = nodes_.find(to);
    if (node != nodes_.end()) node->second->lose(path(from, to), why);
  }
}

}  // namespace troupe
