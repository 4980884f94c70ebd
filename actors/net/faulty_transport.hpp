// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/faulty_network.hpp"
#include "actors/net/wire/reorder.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

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
  std::chrono::steady_clock::time_point latest{};  ///< when the last of them is due
  Reorder<Frame> reorder;
  bool blocked = false;
  std::uint64_t blocks = 0;  ///< partitions so far
  std::vector<Frame> held;
};

/// One node of a FaultyNetwork: sits between a transport and its handler, whose thread is one of
/// its own. Its queue is guarded by the network's mutex.
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

  using Clock = std::chrono::steady_clock;

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

}  // namespace troupe
