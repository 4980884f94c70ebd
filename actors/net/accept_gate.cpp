// SPDX-License-Identifier: Apache-2.0
//
// The linker makes the program's accept() the one that shared libraries call, too, because they
// refer to it. Who is at the other end of a loopback connection is read from /proc/net/tcp: the row
// whose local address is the peer's and whose remote address is ours has the peer's user id.
#include "actors/net/accept_gate.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace troupe::accept_gate {
namespace {

/// Sockets are known by their inode: a descriptor's number may be given out again.
struct Gate {
  std::mutex mutex;
  std::set<std::string> guarded;
  std::map<std::string, int> let_in;
  std::atomic<std::uint64_t> refused{0};
};

Gate& gate() {
  static Gate instance;  // as the process has one accept(), it has one gate
  return instance;
}

std::string socket_of(int fd) {
  char target[64] = {};
  const auto path = "/proc/self/fd/" + std::to_string(fd);
  const auto length = ::readlink(path.c_str(), target, sizeof target - 1);
  return length > 0 ? std::string(target, static_cast<std::size_t>(length)) : std::string();
}

bool listens(int fd) {
  int value = 0;
  socklen_t length = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &length) == 0 && value != 0;
}

std::set<std::string> listening_sockets() {
  std::set<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    if (listens(fd)) found.insert(socket_of(fd));
  }
  return found;
}

struct End {
  std::string address;  // numeric; an IPv4 address inside IPv6 as IPv4
  std::uint16_t port = 0;
  bool loopback = false;
};

End end_of(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = {};
  End end;
  in_addr v4{};
  if (storage.ss_family == AF_INET) {
    const auto& socket = reinterpret_cast<const sockaddr_in&>(storage);
    v4 = socket.sin_addr;
    end.port = ntohs(socket.sin_port);
  } else {
    const auto& socket = reinterpret_cast<const sockaddr_in6&>(storage);
    end.port = ntohs(socket.sin6_port);
    if (!IN6_IS_ADDR_V4MAPPED(&socket.sin6_addr)) {
      ::inet_ntop(AF_INET6, &socket.sin6_addr, text, sizeof text);
      end.loopback = IN6_IS_ADDR_LOOPBACK(&socket.sin6_addr);
      end.address = text;
      return end;
    }
    std::memcpy(&v4, &socket.sin6_addr.s6_addr[12], sizeof v4);
  }
  ::inet_ntop(AF_INET, &v4, text, sizeof text);
  end.loopback = (ntohl(v4.s_addr) >> 24) == 127;
  end.address = text;
  return end;
}

/// The user at the other end of a loopback connection, by both ports; nothing: not found.
bool is_our_user(std::uint16_t peer_port, std::uint16_t our_port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(table, "re"),
                                                               std::fclose);
    if (file == nullptr) continue;
    char line[512];
    while (std::fgets(line, sizeof line, file.get()) != nullptr) {
      unsigned local = 0;
      unsigned remote = 0;
      unsigned uid = 0;
      if (std::sscanf(line, "%*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%x %*x %*x:%*x %*x:%*x %*x %u",
                      &local, &remote, &uid) == 3 &&
          local == peer_port && remote == our_port) {
        return uid == ::geteuid();
      }
    }
  }
  return false;
}

bool may_pass(int fd) {
  sockaddr_storage theirs{};
  sockaddr_storage ours{};
  socklen_t length = sizeof theirs;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &length) != 0) return false;
  length = sizeof ours;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&ours), &length) != 0) return false;
  if (theirs.ss_family != AF_INET && theirs.ss_family != AF_INET6) return true;
  const auto peer = end_of(theirs);
  if (peer.loopback) return is_our_user(peer.port, end_of(ours).port);
  const std::lock_guard lock(gate().mutex);
  return gate().let_in.contains(peer.address);
}

}  // namespace

Snapshot::Snapshot() {
  for (const auto& socket : listening_sockets()) before_ += socket + "\n";
}

int Snapshot::guard_since() const {
  int added = 0;
  const std::lock_guard lock(gate().mutex);
  for (const auto& socket : listening_sockets()) {
    if (before_.find(socket + "\n") != std::string::npos) continue;
    gate().guarded.insert(socket);
    ++added;
  }
  return added;
}

void let_in(const std::string& address) {
  const std::lock_guard lock(gate().mutex);
  ++gate().let_in[address];
}

void keep_out(const std::string& address) {
  const std::lock_guard lock(gate().mutex);
  const auto it = gate().let_in.find(address);
  if (it != gate().let_in.end() && --it->second == 0) gate().let_in.erase(it);
}

std::uint64_t refused() { return gate().refused; }

namespace {

bool is_guarded(int fd) {
  const std::lock_guard lock(gate().mutex);
  return !gate().guarded.empty() && gate().guarded.contains(socket_of(fd));
}

int guarded_accept(int fd, sockaddr* address, socklen_t* length) {
  if (!is_guarded(fd)) return static_cast<int>(::syscall(SYS_accept4, fd, address, length, 0));
  while (true) {
    const auto room = length == nullptr ? socklen_t{0} : *length;
    const auto accepted = static_cast<int>(::syscall(SYS_accept4, fd, address, length, 0));
    if (accepted < 0 || may_pass(accepted)) return accepted;
    ++gate().refused;
    ::close(accepted);
    if (length != nullptr) *length = room;
  }
}

}  // namespace
}  // namespace troupe::accept_gate

extern "C" int accept(int fd, sockaddr* address, socklen_t* length) {
  return troupe::accept_gate::guarded_accept(fd, address, length);
}
