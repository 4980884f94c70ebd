// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/transport.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::test {

/// Keeps what a transport reports, for tests to look at from their own thread.
class RecordingHandler : public TransportHandler {
 public:
  struct Log {
    std::vector<PeerInfo> up;
    std::vector<std::pair<NodeId, Error>> down;
    std::vector<std::pair<Address, Error>> failed;
    std::vector<std::pair<NodeId, Frame>> frames;
    std::size_t signs = 0;  ///< of life, from anybody
  };

  void on_peer_up(const PeerInfo& peer) override {
    write([&](Log& log) { log.up.push_back(peer); });
  }
  void on_peer_down(const NodeId& peer, const Error& why) override {
    write([&](Log& log) { log.down.emplace_back(peer, why); });
  }
  void on_sign_of_life(const NodeId&) override {
    write([&](Log& log) { ++log.signs; });
  }
  void on_connect_failed(const Address& to, const Error& why) override {
    write([&](Log& log) { log.failed.emplace_back(to, why); });
  }
  void on_frame(const NodeId& from, Frame frame) override {
    // Copies: who holds a frame's own bytes holds the sender's credit.
    frame.body = copy_of(frame.body);
    frame.blob = copy_of(frame.blob);
    write([&](Log& log) { log.frames.emplace_back(from, std::move(frame)); });
  }

  [[nodiscard]] Log log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

 private:
  static Slice copy_of(const Slice& slice) {
    return Slice::own(std::vector<std::byte>(slice.bytes().begin(), slice.bytes().end()));
  }
  void write(const std::function<void(Log&)>& change) {
    const std::lock_guard lock(mutex_);
    change(log_);
  }

  mutable std::mutex mutex_;
  Log log_;
};

}  // namespace troupe::test
