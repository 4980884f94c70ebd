// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/peer/peer.hpp"
#include "messages/result.hpp"

#include <memory>

namespace troupe::bench {

/// UCX with nothing on top: what no transport over it can beat.
[[nodiscard]] Result<std::unique_ptr<Peer>> make_ucx_peer();

}  // namespace troupe::bench
