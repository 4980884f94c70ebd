// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/credits.hpp"

namespace troupe {

bool needs_credit(const FrameHeader& header) {
  constexpr std::uint64_t response_bit = std::uint64_t{1} << 63;  // of CAF's message ids
  return header.kind == FrameKind::data && (header.message_id & response_bit) == 0;
}

}  // namespace troupe
