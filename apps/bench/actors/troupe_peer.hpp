// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/peer/peer.hpp"

#include <memory>

namespace troupe::bench {

/// Our own actors, over our own transport.
[[nodiscard]] std::unique_ptr<Peer> make_troupe_peer();

}  // namespace troupe::bench
