// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/transport.hpp"
#include "tests/model/cluster/event_loop.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::model {

class Network;

/// What runs in a process of the model. It hears what a TransportHandler hears, and is ticked; its
/// clock is its own. Everything that it does goes through the network.
class Program {
 public:
  virtual ~Program() = default;
  virtual void on_start() {}
  virtual void on_peer_up(const PeerInfo& peer) = 0;
  virtual void on_peer_down(const NodeId& peer, const Error& why) = 0;
  virtual void on_connect_failed(const Address& to, const Error& why) = 0;
  virtual void on_sign_of_life(const NodeId& peer) = 0;
  virtual void on_tick() = 0;
};

/// Some machines with one process each, and the connections between them, as the transport between
/// real processes makes them: in order, lost for good when one side ends them, is killed or hears
/// nothing for 5 s; a stopped process keeps its connections; a partition holds packets back until
/// it heals or the connection is given up. Machines are numbered from 0.
class Network {
 public:
  using MakeProgram =
      std::function<std::unique_ptr<Program>(Network&, std::size_t machine, const PeerInfo& self)>;

  struct Options {
    Millis latency{2};           ///< one way, and up to as much again
    double loss = 0;             ///< of messages, though the transport never loses one
    double duplicate = 0;        ///< likewise
    double reorder = 0;          ///< likewise
    Millis silence_limit{5000};  ///< of the transport itself
    Millis tick{200};
  };

  Network(EventLoop& loop, std::size_t machines, std::uint64_t seed, Options options,
          MakeProgram make);

  // For programs.
  void dial(std::size_t from, const Address& to);
  void drop(std::size_t from, const NodeId& id, const Error& why);
  /// `deliver` runs at the process of `to`, if it is still there and runs.
  void send(std::size_t from, const NodeId& to, std::function<void(Program&)> deliver);
  /// Runs `what` at the process after that time, if it is still there; once it runs.
  void later(std::size_t machine, Millis wait, std::function<void()> what);
  /// The process says goodbye and ends; with `again` it is started again after that time.
  void exit(std::size_t machine, std::optional<Millis> again);
  /// The process's own clock.
  [[nodiscard]] TimePoint clock(std::size_t machine) const;

  // What befalls machines.
  void start(std::size_t machine);
  void kill(std::size_t machine);
  void power_off(std::size_t machine);  ///< nothing closes its connections or refuses calls
  void stop(std::size_t machine);
  void resume(std::size_t machine);
  void slow(std::size_t machine, Millis delay);
  void jump(std::size_t machine, Millis forward);
  void block(std::size_t from, std::size_t to, bool blocked);

  // What is true.
  [[nodiscard]] std::size_t size() const { return machines_.size(); }
  [[nodiscard]] bool exists(std::size_t machine) const {
    return machines_[machine].program != nullptr;
  }
  [[nodiscard]] bool runs(std::size_t machine) const {
    return exists(machine) && !machines_[machine].stopped;
  }
  [[nodiscard]] const NodeId& id(std::size_t machine) const { return machines_[machine].self.id; }
  [[nodiscard]] Program* program(std::size_t machine) { return machines_[machine].program.get(); }
  [[nodiscard]] bool blocked(std::size_t from, std::size_t to) const {
    return blocked_.contains({from, to});
  }
  [[nodiscard]] Address address(std::size_t machine) const;
  [[nodiscard]] bool delayed(std::size_t machine) const {
    return machines_[machine].delay.count() > 0;
  }
  /// Counts what has befallen a machine, or the way between two: equal numbers, nothing between.
  [[nodiscard]] std::uint64_t disturbances(std::size_t machine) const {
    return machines_[machine].disturbances;
  }
  [[nodiscard]] std::uint64_t disturbances(std::size_t a, std::size_t b) const;
  /// Has anybody declared this incarnation dead, or lost a connection to it?
  [[nodiscard]] bool is_buried_by_somebody(const NodeId& id) const { return buried_.contains(id); }

 private:
  struct Machine {
    PeerInfo self;
    std::unique_ptr<Program> program;
    std::uint64_t life = 0;
    bool off = false;
    bool stopped = false;
    Millis delay{0};
    Clock::duration offset{0};
    TimePoint ticked{};
    std::vector<std::function<void()>> waiting;  ///< while it is stopped
    std::set<NodeId> dead;                       ///< for its transport
    std::uint64_t disturbances = 0;
  };
  /// One end of a connection.
  struct End {
    std::size_t machine;
    std::uint64_t life;
    NodeId id;
    TimePoint heard;
    TimePoint sent;  ///< when the last thing that it has sent arrives: order is kept
    bool open = true;
  };
  struct Connection {
    End ends[2];
    TimePoint blocked_since = TimePoint::max();
    std::vector<std::function<void()>> held[2];  ///< packets to this end
  };

  [[nodiscard]] std::size_t machine_at(const Address& address) const;
  [[nodiscard]] bool is_cut(std::size_t a, std::size_t b) const;
  [[nodiscard]] Millis latency(std::size_t from);
  [[nodiscard]] bool falls(double chance);
  /// Runs at a process unless that life is over; later if it is stopped.
  void at(std::size_t machine, std::uint64_t life, std::function<void()> what);
  void answer_call(std::size_t from, std::uint64_t life, const Address& to);
  void fail_call(std::size_t from, std::uint64_t life, const Address& to, Error why, Millis after);
  std::shared_ptr<Connection> connection(std::size_t machine, const NodeId& to, int& side);
  /// Sends a packet from that side of a connection.
  void transmit(const std::shared_ptr<Connection>& c, int from, std::function<void()> deliver,
                bool ordered = true);
  void close(const std::shared_ptr<Connection>& c, int side, const Error& why);
  void end_links(std::size_t machine, const Error& why, bool tell);
  void beat(std::size_t machine, std::uint64_t life);
  void keep_time(std::size_t machine);

  EventLoop& loop_;
  Options options_;
  MakeProgram make_;
  std::mt19937_64 random_;
  std::vector<Machine> machines_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::set<std::pair<std::size_t, std::size_t>> blocked_;
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> ways_;
  std::set<NodeId> buried_;
  std::uint64_t incarnations_ = 0;
};

}  // namespace troupe::model
