// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/control_connection.hpp"
#include "actors/net/ucx_worker.hpp"

#include <poll.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

/// A member of the cluster that keeps to no rule but those of the handshake: the test says what it
/// sends, and when it reads. Used from one thread.
class RoguePeer {
 public:
  RoguePeer(ClusterSecret secret, Address to)
      : secret_(std::move(secret)), to_(std::move(to)), worker_(make_worker()) {
    auto called = call();
    if (!called) throw std::runtime_error(called.error().what);
    endpoint_ =
        worker_->open(connections_[0]->handshake().theirs().worker_address, [](auto&) {}).value();
  }

  ~RoguePeer() {
    if (endpoint_ != nullptr) worker_->close(endpoint_);
  }
  RoguePeer(const RoguePeer&) = delete;

  /// Opens one more control connection, with a session of its own.
  [[nodiscard]] Result<void> call() {
    auto fd = begin_connect(to_);
    if (!fd) return Failure(fd.error());
    const Introduction mine{
        {id, {"127.0.0.1", 1}, "1", 1}, worker_->address().value(), random_number(), false};
    connections_.push_back(std::make_unique<ControlConnection>(
        std::move(*fd), Handshake(Handshake::Role::caller, secret_, mine), to_,
        ControlConnection::Clock::time_point::max()));
    return talk(*connections_.back(), [](const Handshake& handshake) { return handshake.done(); });
  }
  /// Opens one more and gives what the node says until it hangs up on it.
  [[nodiscard]] std::string call_and_listen() {
    auto said = call();
    if (said) said = talk(*connections_.back(), [](const Handshake&) { return false; });
    connections_.pop_back();
    return said.error().what;
  }
  void hang_up(std::size_t connection) {
    connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(connection));
  }

  /// Sends frames as one message with this sequence number, under the keys of that connection.
  void send(std::uint64_t sequence, const std::vector<Frame>& frames, std::size_t connection = 0) {
    const auto& handshake = connections_.at(connection)->handshake();
    FrameWriter writer(worker_->header_limit());
    for (const auto& frame : frames) writer.add(frame);
    worker_->send(endpoint_,
                  writer.seal(handshake.theirs().session, sequence,
                              SessionKey(handshake.key_to_peer()), false),
                  in_flight_);
  }
  void send_hello() {
    Frame hello;
    hello.header.kind = FrameKind::hello;
    send(0, {hello});
  }
  /// Lets UCX send and receive, and gives signs of life.
  void progress() {
    for (const auto& connection : connections_) {
      (void)connection->on_readable();
      (void)connection->keep_alive(ControlConnection::Clock::now());
    }
    while (worker_->progress()) {
    }
  }
  [[nodiscard]] std::size_t in_flight() const { return *in_flight_; }
  [[nodiscard]] std::size_t received() const { return received_; }

  const NodeId id{"rogue", random_number()};

 private:
  std::unique_ptr<UcxWorker> make_worker() {
    auto counter = std::make_shared<std::size_t>(0);
    return UcxWorker::make({[counter](auto, auto) { return counter; },
                            [this](const Buffer&, const Buffer&) { ++received_; },
                            [](auto, const Error&) {}})
        .value();
  }
  template <class Done>
  Result<void> talk(ControlConnection& connection, Done&& done) {
    while (!done(connection.handshake())) {
      const bool writes = connection.wants_to_write();
      pollfd wait{connection.fd(), static_cast<short>(POLLIN | (writes ? POLLOUT : 0)), 0};
      if (::poll(&wait, 1, 20000) <= 0) return fail(ErrorCode::timeout, "the node is silent");
      if ((wait.revents & POLLOUT) != 0) {
        if (auto written = connection.on_writable(); !written) return written;
      }
      if ((wait.revents & ~POLLOUT) != 0) {
        if (auto read = connection.on_readable(); !read) return read;
      }
    }
    return {};
  }

  ClusterSecret secret_;
  Address to_;
  std::size_t received_ = 0;
  std::unique_ptr<UcxWorker> worker_;
  std::vector<std::unique_ptr<ControlConnection>> connections_;
  ucp_ep* endpoint_ = nullptr;
  std::shared_ptr<std::size_t> in_flight_ = std::make_shared<std::size_t>(0);
};

}  // namespace troupe::test
