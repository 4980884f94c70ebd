// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/store/etcd_client.hpp"
#include "actors/core/lease.hpp"
#include "messages/ids.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// Where leases and jobs live: a file of this machine, or else the members of an etcd cluster.
struct StoreAddress {
  std::filesystem::path file;
  std::vector<Address> members;
  std::string prefix;  ///< of the keys in etcd

  friend bool operator==(const StoreAddress&, const StoreAddress&) = default;
};

/// "sqlite:PATH" or "etcd://HOST:PORT,HOST:PORT,...", the latter perhaps with "/PREFIX" after it
/// (by default "/troupe").
[[nodiscard]] Result<StoreAddress> parse_store_address(std::string_view text);
[[nodiscard]] std::string to_string(const StoreAddress& address);

[[nodiscard]] Result<std::unique_ptr<Store>> open_store(const StoreAddress& address,
                                                        EtcdLimits limits = {});

}  // namespace troupe
