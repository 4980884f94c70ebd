// SPDX-License-Identifier: Apache-2.0
#include "messages/frame.hpp"

#include <bit>
#include <string>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "frames are little-endian as they stand");

Result<void> check_frame_header(const FrameHeader& header) {
  if (header.kind < FrameKind::hello || header.kind > FrameKind::credit) {
    return fail(ErrorCode::corrupt, "a frame of an unknown kind");
  }
  if (header.reserved != 0 || header.reserved2 != 0) {
    return fail(ErrorCode::corrupt, "a frame with reserved bits set");
  }
  if (header.body_bytes > max_body_bytes || header.body_bytes % 8 != 0) {
    return fail(ErrorCode::corrupt,
                "a frame with a body of " + std::to_string(header.body_bytes) + " bytes");
  }
  if (header.blob_bytes > max_blob_bytes) {
    return fail(ErrorCode::corrupt,
                "a frame with a blob of " + std::to_string(header.blob_bytes) + " bytes");
  }
  return {};
}

}  // namespace troupe
