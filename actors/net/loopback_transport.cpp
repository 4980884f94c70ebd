// SPDX-License-Identifier: Apache-2.0
//
// Every transport has a thread that works off a queue of things to do; sending is putting something
// into the other one's queue, under the hub's lock, so that order is kept and nobody talks to a
// transport that has stopped.
#include "actors/net/loopback_transport.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <set>
#include <thread>
#include <vector>

namespace troupe {

class LoopbackTransport final : public Transport {
 public:
  LoopbackTransport(LoopbackHub& hub, PeerInfo self) : hub_(hub), self_(std::move(self)) {}
  ~LoopbackTransport() override { stop(); }

  Result<PeerInfo> start(TransportHandler& handler) override {
    handler_ = &handler;
    const std::lock_guard lock(hub_.mutex_);
    self_.control = {"loopback", hub_.next_port_++};
    hub_.listening_[self_.control.port] = this;
    thread_ = std::thread([this] { run(); });
    return self_;
  }

  void connect(const Address& to, std::optional<NodeId> expected) override {
    const std::lock_guard lock(hub_.mutex_);
    const auto it = hub_.listening_.find(to.port);
    if (it == hub_.listening_.end() || (expected && *expected != it->second->self_.id)) {
      return post([this, to] {
        handler_->on_connect_failed(to, {ErrorCode::not_found, "nothing listens there"});
      });
    }
    auto* other = it->second;
    if (hub_.dead_.contains({self_.id, other->self_.id}) ||
        hub_.dead_.contains({other->self_.id, self_.id})) {
      return post([this, to] {
        handler_->on_connect_failed(to, {ErrorCode::aborted, "was declared dead"});
      });
    }
    if (!links_.emplace(other->self_.id, other).second) return;
    other->links_.emplace(self_.id, this);
    post([this, peer = other->self_] { handler_->on_peer_up(peer); });
    other->post([other, peer = self_] { other->handler_->on_peer_up(peer); });
  }

  bool send(const NodeId& to, Frame frame) override {
    const std::lock_guard lock(hub_.mutex_);
    const auto it = links_.find(to);
    if (it == links_.end()) return true;
    it->second->post([other = it->second, from = self_.id, frame = std::move(frame)]() mutable {
      other->handler_->on_frame(from, std::move(frame));
    });
    return true;
  }

  void drop(const NodeId& id, const Error& why) override {
    const std::lock_guard lock(hub_.mutex_);
    hub_.dead_.emplace(self_.id, id);
    const auto it = links_.find(id);
    if (it == links_.end()) return;
    auto* other = it->second;
    links_.erase(it);
    other->links_.erase(self_.id);
    post([this, id, why] { handler_->on_peer_down(id, why); });
    other->post([other, self = self_.id, why] { other->handler_->on_peer_down(self, why); });
  }

  void stop() override {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(hub_.mutex_);
      hub_.listening_.erase(self_.control.port);
      for (auto& [id, other] : links_) {
        other->links_.erase(self_.id);
        other->post([other = other, gone = self_.id] {
          other->handler_->on_peer_down(gone, {ErrorCode::not_found, "the node has stopped"});
        });
      }
      links_.clear();
    }
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    ready_.notify_one();
    thread_.join();
  }

 private:
  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
    }
    ready_.notify_one();
  }

  void run() {
    while (true) {
      std::unique_lock lock(mutex_);
      // The handler is asked now and then whether it has something to do, as by any transport.
      ready_.wait_for(lock, pause_at_least, [this] { return stopping_ || !work_.empty(); });
      if (stopping_) return;
      std::function<void()> work = [] {};
      if (!work_.empty()) {
        work = std::move(work_.front());
        work_.pop_front();
      }
      lock.unlock();
      work();
      tell_signs_of_life();
      handler_->on_pause();
    }
  }

  /// Whoever is linked lives: there is one process.
  void tell_signs_of_life() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_signs_) return;
    next_signs_ = now + pause_at_least;
    std::vector<NodeId> linked;
    {
      const std::lock_guard lock(hub_.mutex_);
      for (const auto& [id, other] : links_) linked.push_back(id);
    }
    for (const auto& id : linked) handler_->on_sign_of_life(id);
  }

  static constexpr auto pause_at_least = std::chrono::milliseconds(250);

  LoopbackHub& hub_;
  std::chrono::steady_clock::time_point next_signs_{};
  PeerInfo self_;
  TransportHandler* handler_ = nullptr;
  std::map<NodeId, LoopbackTransport*> links_;  // guarded by the hub's mutex
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> work_;
  bool stopping_ = false;
  std::thread thread_;
};

std::unique_ptr<Transport> LoopbackHub::make(PeerInfo self) {
  return std::make_unique<LoopbackTransport>(*this, std::move(self));
}

}  // namespace troupe
