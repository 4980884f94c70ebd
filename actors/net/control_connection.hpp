// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "actors/net/handshake.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

[[nodiscard]] bool is_loopback(const Address& address);

/// A listening socket; gives the port that was found where port 0 was asked for.
struct Listener {
  Fd fd;
  Address address;
};
[[nodiscard]] Result<Listener> listen_on(const Address& address);

/// The numeric address of this machine that a socket uses.
[[nodiscard]] std::string local_host(int fd);

/// Begins to connect; whether it came about is seen when the socket is writable.
[[nodiscard]] Result<Fd> begin_connect(const Address& to);

/// One control connection: a non-blocking socket, what was read and not yet understood, what is to
/// be written, and the handshake. Owned by the transport, used from its thread only.
class ControlConnection {
 public:
  using Clock = std::chrono::steady_clock;

  ControlConnection(Fd fd, Handshake handshake, std::optional<Address> called,
                    Clock::time_point due);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const Handshake& handshake() const { return handshake_; }
  /// The address that we called; nothing where the other side called us.
  [[nodiscard]] const std::optional<Address>& called() const { return called_; }
  /// The numeric address of the other side.
  [[nodiscard]] const std::string& remote_host() const { return remote_host_; }
  /// When the handshake must be done.
  [[nodiscard]] Clock::time_point due() const { return due_; }
  [[nodiscard]] bool wants_to_write() const { return !out_.empty() || connecting_; }

  /// Takes in what is there; an error ends the connection, and a goodbye or an end of the stream is
  /// one too. What it answers is for on_writable() to send, after the owner has looked at how far
  /// the handshake has come: who reads the answer may be at the data port at once.
  [[nodiscard]] Result<void> on_readable();
  [[nodiscard]] Result<void> on_writable();
  /// Says why it ends, as far as the socket takes it.
  void refuse(const Error& why);
  /// With `why`: the other side is not wanted any more.
  void say_goodbye(const std::optional<Error>& why = {});
  /// When the other side last said something.
  [[nodiscard]] Clock::time_point heard() const { return heard_; }
  /// Sends a sign of life where it is time; an error where the other side gave none for too long.
  [[nodiscard]] Result<void> keep_alive(Clock::time_point now);

  /// This process itself did not run for so long: silence of that time says nothing.
  void excuse(Clock::duration pause, Clock::time_point now) {
    heard_ = std::min(heard_ + pause, now);
  }

  /// The most that one call of on_readable() takes, in pieces of 8 KiB.
  static constexpr int chunks_at_once = 8;
  static constexpr auto ping_every = std::chrono::milliseconds(500);
  static constexpr auto silence_limit = std::chrono::seconds(5);

 private:
  [[nodiscard]] Result<void> take_records();
  [[nodiscard]] Result<void> flush();

  Fd fd_;
  Handshake handshake_;
  std::optional<Address> called_;
  Clock::time_point due_;
  bool connecting_ = false;
  std::string remote_host_;
  Clock::time_point heard_{};
  Clock::time_point pinged_{};  ///< when we last gave a sign of life
  std::string in_;
  std::string out_;
};

}  // namespace troupe
