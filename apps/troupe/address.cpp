// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/address.hpp"

#include <arpa/inet.h>

#include <charconv>
#include <string>

namespace troupe {
namespace {

Failure malformed() {
  return fail(ErrorCode::invalid_argument,
              "expected HOST:PORT, such as 127.0.0.1:7070 or [::1]:7070");
}

// A v6 address may end with the interface that it is on: fe80::1%eth0.
bool is_numeric(const std::string& host) {
  in6_addr v6{};
  in_addr v4{};
  return ::inet_pton(AF_INET, host.c_str(), &v4) == 1 ||
         ::inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &v6) == 1;
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed();
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return malformed();  // a v6 address without brackets: which colon begins the port?
  }
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error == std::errc::result_out_of_range) {
    return fail(ErrorCode::invalid_argument, "the port must be from 0 to 65535");
  }
  if (host.empty() || error != std::errc() || end != port.data() + port.size()) return malformed();
  if (host == "localhost") return Address{"127.0.0.1", number};
  if (is_numeric(std::string(host))) return Address{std::string(host), number};
  return fail(ErrorCode::invalid_argument,
              "names are not looked up; write the host as a number, such as 127.0.0.1");
}

}  // namespace troupe
