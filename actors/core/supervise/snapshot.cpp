// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/snapshot.hpp"

#include "actors/core/message.hpp"
#include "messages/supervise.capnp.h"

#include <caf/send.hpp>

#include <utility>

namespace troupe {

Result<void> keep_snapshot(const std::string& path, const Kept& kept, Slice state) {
  if (!kept.keeper) return fail(ErrorCode::unavailable, path + ": nobody keeps its state");
  if (state.size() > max_snapshot) {
    return fail(ErrorCode::invalid_argument,
                path + ": a snapshot of " + std::to_string(state.size()) +
                    " bytes; its supervisor keeps at most " + std::to_string(max_snapshot));
  }
  caf::anon_send(kept.keeper, Msg<msg::Snapshot>::build(
                                  [&](msg::Snapshot::Builder b) {
                                    b.setPath(path);
                                    b.setLife(kept.life);
                                  },
                                  std::move(state)));
  return {};
}

}  // namespace troupe
