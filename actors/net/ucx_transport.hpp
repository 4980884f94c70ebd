// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/crypto.hpp"
#include "actors/net/transport.hpp"
#include "actors/net/wire/credits.hpp"

#include <memory>
#include <string>

namespace troupe {

struct UcxTransportOptions {
  NodeId self;
  std::string version;
  std::uint64_t node_actor = 0;
  Address listen{"127.0.0.1", 0};
  ClusterSecret secret;
  bool encrypt = false;  ///< everything; all nodes of a cluster must want the same
  CreditWindow window;
  NodeRole role = NodeRole::host;
};

/// The transport between processes: a control port of our own on which nodes authenticate each
/// other and exchange UCX worker addresses, then UCX active messages for all frames. The control
/// connection stays open, so that the end of a process is noticed at once.
///
/// One thread owns the UCX worker, the endpoints and all sockets.
[[nodiscard]] std::unique_ptr<Transport> make_ucx_transport(UcxTransportOptions options);

}  // namespace troupe
