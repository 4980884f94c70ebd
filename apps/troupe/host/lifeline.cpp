// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/lifeline.hpp"

namespace troupe {

void Lifeline::on(const PeerUp& up) {
  if (join_ && up.peer.control == *join_) joined_ = up.peer.id;
}

std::optional<std::string> Lifeline::on(const PeerDown& down) const {
  if (!ends_with_it_ || joined_ != down.peer) return std::nullopt;
  return "the host node is gone: " + down.why.what;
}

}  // namespace troupe
