// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/address.hpp"

#include <algorithm>
#include <charconv>

namespace troupe {
namespace {

Failure malformed() {
  return fail(ErrorCode::invalid_argument,
              "expected HOST:PORT, such as 127.0.0.1:7070 or [::1]:7070");
}

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == ':' || c == '%';
  });
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
  if (!is_host(host) || error != std::errc() || end != port.data() + port.size())
    return malformed();
  return Address{std::string(host), number};
}

}  // namespace troupe
