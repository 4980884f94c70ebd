// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/machine.hpp"

#include "actors/base/fd.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <string>

namespace troupe {
std::uint32_t count_gpus() {
  std::error_code error;
  std::uint32_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const auto name = entry.path().filename().string();
    const bool numbered =
        name.size() > 6 && name.rfind("nvidia", 0) == 0 &&
        std::all_of(name.begin() + 6, name.end(), [](unsigned char c) { return std::isdigit(c); });
    if (numbered) ++count;
  }
  return count;
}

Result<std::string> own_address_towards(const Address& other) {
  sockaddr_storage to{};
  socklen_t size = sizeof(sockaddr_in);
  auto* v4 = reinterpret_cast<sockaddr_in*>(&to);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&to);
  if (::inet_pton(AF_INET, other.host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(other.port);
  } else if (::inet_pton(AF_INET6, other.host.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(other.port);
    size = sizeof(sockaddr_in6);
  } else {
    return fail(ErrorCode::invalid_argument, "'" + other.host + "' is no numeric address");
  }
  // A datagram socket sends nothing when it is connected, but its own end is chosen.
  const Fd socket(::socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t own_size = sizeof own;
  if (!socket || ::connect(socket.get(), reinterpret_cast<sockaddr*>(&to), size) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0) {
    return fail(ErrorCode::unavailable, to_string(other) + ": " + errno_text(errno));
  }
  char text[INET6_ADDRSTRLEN] = "";
  const void* address =
      own.ss_family == AF_INET
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(&own)->sin_addr)
          : &reinterpret_cast<const sockaddr_in6*>(&own)->sin6_addr;
  ::inet_ntop(own.ss_family, address, text, sizeof text);
  return std::string(text);
}

}  // namespace troupe
