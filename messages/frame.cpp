// SPDX-License-Identifier: Apache-2.0
#include "messages/frame.hpp"

#include <bit>
#include <cstring>

namespace troupe {

static_assert(std::endian::native == std::endian::little, "frames are little-endian as they stand");

Result<FrameHeader> parse_frame_header(std::span<const std::byte> bytes) {
  FrameHeader header;
  if (bytes.size() < sizeof header) {
    return fail(ErrorCode::corrupt, "a frame of " + std::to_string(bytes.size()) + " bytes");
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != FrameHeader::magic_number) {
    return fail(ErrorCode::corrupt, "a frame without Troupe's magic number");
  }
  if (header.version != FrameHeader::current_version) {
    return fail(ErrorCode::version_mismatch,
                "a frame of version " + std::to_string(header.version) + ", this program knows " +
                    std::to_string(FrameHeader::current_version));
  }
  if (header.kind < FrameKind::hello || header.kind > FrameKind::bulk_answer || header.flags != 0) {
    return fail(ErrorCode::corrupt, "a frame of an unknown kind");
  }
  if (header.body_bytes > max_body_bytes || header.body_bytes % 8 != 0) {
    return fail(ErrorCode::corrupt,
                "a frame with a body of " + std::to_string(header.body_bytes) + " bytes");
  }
  return header;
}

}  // namespace troupe
