// SPDX-License-Identifier: Apache-2.0
#include "actors/base/assert.hpp"
#include "messages/frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  const auto header = parse_frame_header(std::as_bytes(std::span(data, size)));
  if (!header) return 0;
  TROUPE_ASSERT(header->kind >= FrameKind::hello && header->kind <= FrameKind::down);
  TROUPE_ASSERT(header->body_bytes <= max_body_bytes && header->body_bytes % 8 == 0);
  return 0;
}
