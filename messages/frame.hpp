// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// What a frame between two nodes is for.
enum class FrameKind : std::uint8_t {
  hello = 1,     ///< the first frame of a connection: the data path works
  data,          ///< a message, a request or a reply: body, and perhaps a blob
  void_reply,    ///< the reply to a request that answers nothing
  error_reply,   ///< a request failed; body: msg::Reason
  exit,          ///< ends an actor; body: msg::Reason
  monitor,       ///< the sender wants to know when the target ends
  down,          ///< the source, which the target node monitors, has ended; body: msg::Reason
  bulk_request,  ///< reads or writes exposed memory; body: msg::BulkRequest, blob: what to write
  bulk_answer,   ///< the answer; body: msg::BulkAnswer, blob: what was read
};

/// The fixed part of a frame, little-endian as it stands in memory.
struct FrameHeader {
  static constexpr std::uint32_t magic_number = 0x50525431;
  static constexpr std::uint8_t current_version = 1;

  std::uint32_t magic = magic_number;
  std::uint8_t version = current_version;
  FrameKind kind = FrameKind::data;
  std::uint16_t flags = 0;         ///< reserved, 0
  std::uint64_t session = 0;       ///< the number that the receiving node gave to the sending one
  std::uint64_t sequence = 0;      ///< 0, 1, 2, ... per direction of a connection; hello is 0
  std::uint64_t source = 0;        ///< number of the sending actor, 0: none
  std::uint64_t target = 0;        ///< number of the receiving actor
  std::uint64_t message_id = 0;    ///< pairs a reply with its request
  std::uint64_t type = 0;          ///< Cap'n Proto id of the body's struct
  std::uint32_t body_bytes = 0;    ///< length of the body, a multiple of 8
  std::uint32_t remaining_ms = 0;  ///< time that the asker still waits, 0: no limit
};
static_assert(sizeof(FrameHeader) == 64);

/// What one node sends another: a header, a Cap'n Proto message, raw bytes.
struct Frame {
  FrameHeader header;
  Slice body;
  Slice blob;
};

/// The most that a frame may carry: the body, then the blob.
constexpr std::uint64_t max_body_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t max_blob_bytes = std::uint64_t{1} << 30;

/// Reads a header that came from outside and checks all that can be checked without its payload.
[[nodiscard]] Result<FrameHeader> parse_frame_header(std::span<const std::byte> bytes);

}  // namespace troupe
