// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/store/etcd_client.hpp"
#include "actors/core/lease.hpp"

#include <memory>
#include <string>

namespace troupe {

/// A store in etcd, for several control nodes. All its keys begin with `prefix`, so clusters can
/// share one etcd. Opening it asks nothing; whether etcd is there shows at the first call.
[[nodiscard]] std::unique_ptr<Store> open_etcd_store(std::unique_ptr<EtcdClient> client,
                                                     std::string prefix);

}  // namespace troupe
