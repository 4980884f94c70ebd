// SPDX-License-Identifier: Apache-2.0
#include "actors/net/control_connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace troupe {
namespace {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  [[nodiscard]] int family() const { return storage.ss_family; }
};

Result<SocketAddress> to_socket_address(const Address& address) {
  SocketAddress result;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&result.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&result.storage);
  if (::inet_pton(AF_INET, address.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(address.port);
    result.length = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(address.port);
    result.length = sizeof *v6;
  } else {
    return fail(ErrorCode::invalid_argument,
                "'" + address.host + "' is no IP address (127.0.0.1, ::1, 10.0.0.5)");
  }
  return result;
}

std::uint16_t port_of(const SocketAddress& address) {
  if (address.family() == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
}

std::string host_text(SocketAddress& socket) {
  char text[INET6_ADDRSTRLEN] = {};
  const void* address = &reinterpret_cast<const sockaddr_in*>(&socket.storage)->sin_addr;
  if (socket.family() == AF_INET6) {
    address = &reinterpret_cast<const sockaddr_in6*>(&socket.storage)->sin6_addr;
  }
  ::inet_ntop(socket.family(), address, text, sizeof text);
  return text;
}

std::string peer_host(int fd) {
  SocketAddress peer;
  peer.length = sizeof peer.storage;
  return ::getpeername(fd, peer.get(), &peer.length) == 0 ? host_text(peer) : std::string();
}

/// A silent peer is noticed by the kernel: keep-alive, and a limit on unacknowledged bytes.
void set_options(int fd) {
  const int on = 1;
  const int idle_s = 2;
  const int interval_s = 1;
  const int probes = 3;
  const int unacknowledged_ms = 5000;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  ::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

/// Whoever refuses is a machine that runs no such process; of all else nothing is certain.
Error connect_error(int error) {
  if (error == ECONNREFUSED) {
    return {ErrorCode::not_found, "connection refused: nothing listens there"};
  }
  return {ErrorCode::unavailable, errno_text(error)};
}

}  // namespace

bool is_loopback(const Address& address) {
  return address.host.starts_with("127.") || address.host == "::1";
}

Result<Listener> listen_on(const Address& address) {
  auto where = to_socket_address(address);
  if (!where) return Failure(where.error());
  Fd fd(::socket(where->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail(ErrorCode::unavailable, "socket: " + errno_text(errno));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), where->get(), where->length) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
    const int why = errno;
    const std::string place = "cannot listen on " + to_string(address) + ": ";
    if (why == EADDRINUSE) {
      return fail(ErrorCode::already_exists,
                  place + "the port is in use; choose another, or 0 for any free one");
    }
    if (why == EADDRNOTAVAIL) {
      return fail(ErrorCode::invalid_argument, place + "this machine does not have that address");
    }
    return fail(ErrorCode::unavailable, place + errno_text(why));
  }
  if (::getsockname(fd.get(), where->get(), &where->length) != 0) {
    return fail(ErrorCode::unavailable, "getsockname: " + errno_text(errno));
  }
  return Listener{std::move(fd), {address.host, port_of(*where)}};
}

std::string local_host(int fd) {
  SocketAddress here;
  here.length = sizeof here.storage;
  return ::getsockname(fd, here.get(), &here.length) == 0 ? host_text(here) : std::string();
}

Result<Fd> begin_connect(const Address& to) {
  auto where = to_socket_address(to);
  if (!where) return Failure(where.error());
  Fd fd(::socket(where->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail(ErrorCode::unavailable, "socket: " + errno_text(errno));
  if (::connect(fd.get(), where->get(), where->length) != 0 && errno != EINPROGRESS) {
    return Failure(connect_error(errno));
  }
  return fd;
}

ControlConnection::ControlConnection(Fd fd, Handshake handshake, std::optional<Address> called,
                                     Clock::time_point due)
    : fd_(std::move(fd)),
      handshake_(std::move(handshake)),
      called_(std::move(called)),
      due_(due),
      connecting_(called_.has_value()) {
  set_options(fd_.get());
  remote_host_ = called_ ? called_->host : peer_host(fd_.get());
  if (called_) out_ = handshake_.start();
}

Result<void> ControlConnection::on_readable() {
  char chunk[8192];
  // Whoever never stops talking waits until others have had their turn.
  for (int i = 0; i < chunks_at_once; ++i) {
    const auto got = ::recv(fd_.get(), chunk, sizeof chunk, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0) return fail(ErrorCode::unavailable, errno_text(errno));
    if (got == 0) return fail(ErrorCode::unavailable, "the other side closed the connection");
    in_.append(chunk, static_cast<std::size_t>(got));
    heard_ = Clock::now();
    if (auto taken = take_records(); !taken) return taken;
  }
  return {};
}

Result<void> ControlConnection::take_records() {
  while (!in_.empty()) {
    auto record = take_record(in_);
    if (!record) return Failure(record.error());
    if (!*record) return {};
    if (handshake_.done()) {
      if (handshake_.is_ping(**record)) continue;
      // The other side's answer crossed our last record: it proved us, and does not want us.
      if ((*record)->kind == RecordKind::refusal) return Failure(handshake_.take(**record).error());
      if (auto goodbye = handshake_.heard_goodbye(**record)) return Failure(*goodbye);
      return fail(ErrorCode::corrupt, "an unexpected record after the handshake");
    }
    auto answer = handshake_.take(**record);
    if (!answer) {
      const bool told_us = (*record)->kind == RecordKind::refusal;
      if (!told_us) refuse(answer.error());
      return Failure(answer.error());
    }
    out_ += *answer;
  }
  return {};
}

Result<void> ControlConnection::on_writable() {
  if (std::exchange(connecting_, false)) {
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Failure(connect_error(error));
  }
  return flush();
}

Result<void> ControlConnection::flush() {
  while (!out_.empty()) {
    const auto sent = ::send(fd_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return fail(ErrorCode::unavailable, errno_text(errno));
    out_.erase(0, static_cast<std::size_t>(sent));
  }
  return {};
}

void ControlConnection::refuse(const Error& why) {
  out_ += handshake_.refusal(why);
  if (!connecting_) (void)flush();
}

Result<void> ControlConnection::keep_alive(Clock::time_point now) {
  if (!handshake_.done()) return {};
  if (now - heard_ > silence_limit) {
    return fail(ErrorCode::timeout,
                "no sign of life for " + std::to_string(silence_limit.count()) + " s");
  }
  if (now - pinged_ < ping_every) return {};
  pinged_ = now;
  // A peer that does not read is found by its own silence; its backlog stays small until then.
  if (out_.size() < max_record_body) out_ += handshake_.ping();
  return flush();
}

void ControlConnection::say_goodbye(const std::optional<Error>& why) {
  if (!handshake_.done()) return;
  out_ += handshake_.goodbye(why);
  (void)flush();
}

}  // namespace troupe
