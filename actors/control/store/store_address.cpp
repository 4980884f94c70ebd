// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/store_address.hpp"

#include "actors/control/store/etcd_store.hpp"
#include "actors/control/store/sqlite_store.hpp"

#include <algorithm>
#include <charconv>

namespace troupe {
namespace {

constexpr std::string_view sqlite_scheme = "sqlite:";
constexpr std::string_view etcd_scheme = "etcd://";

Failure bad_address(std::string_view text, const std::string& why) {
  return fail(ErrorCode::invalid_argument,
              "store '" + std::string(text) + "': " + why +
                  "; a store is sqlite:PATH or etcd://HOST:PORT,HOST:PORT,...[/PREFIX]");
}

/// "host:port", "[::1]:port".
bool parse_member(std::string_view text, Address& member) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  auto host = text.substr(0, colon);
  const auto port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return false;
  }
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), member.port);
  member.host = host;
  return !host.empty() && error == std::errc() && end == port.data() + port.size() &&
         member.port != 0 && check_store_key(host);
}

Result<StoreAddress> parse_etcd(std::string_view text) {
  StoreAddress address;
  auto rest = text.substr(etcd_scheme.size());
  const auto slash = rest.find('/');
  address.prefix = slash == std::string_view::npos ? "/troupe" : rest.substr(slash);
  if (address.prefix.back() == '/' || !check_store_key(address.prefix)) {
    return bad_address(text, "the prefix must not be empty, nor end with '/', nor hold blanks");
  }
  rest = rest.substr(0, slash);
  for (;;) {
    const auto comma = rest.find(',');
    const auto one = rest.substr(0, comma);
    Address member;
    if (!parse_member(one, member)) {
      return bad_address(text, "'" + std::string(one) + "' is not HOST:PORT");
    }
    if (std::find(address.members.begin(), address.members.end(), member) !=
        address.members.end()) {
      return bad_address(text, "'" + std::string(one) + "' is named twice");
    }
    address.members.push_back(std::move(member));
    if (comma == std::string_view::npos) return address;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<StoreAddress> parse_store_address(std::string_view text) {
  if (text.starts_with(etcd_scheme)) return parse_etcd(text);
  if (!text.starts_with(sqlite_scheme)) return bad_address(text, "it begins with neither");
  const auto path = text.substr(sqlite_scheme.size());
  if (path.empty() || path.back() == '/') return bad_address(text, "the file has no name");
  return StoreAddress{.file = path};
}

std::string to_string(const StoreAddress& address) {
  if (address.members.empty()) return std::string(sqlite_scheme) + address.file.string();
  std::string text(etcd_scheme);
  for (const auto& member : address.members) {
    if (&member != &address.members.front()) text += ',';
    text += to_string(member);
  }
  return text + address.prefix;
}

Result<std::unique_ptr<Store>> open_store(const StoreAddress& address, EtcdLimits limits) {
  if (address.members.empty()) return open_sqlite_store(address.file);
  return open_etcd_store(std::make_unique<EtcdClient>(address.members, limits), address.prefix);
}

}  // namespace troupe
