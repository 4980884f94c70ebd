// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <cstdint>
#include <span>

namespace troupe {

/// What a frame between two nodes is for.
enum class FrameKind : std::uint8_t {
  hello = 1,    ///< the first frame of a connection: the data path works
  data,         ///< a message, a request or a reply: body, and perhaps a blob
  void_reply,   ///< the reply to a request that answers nothing
  error_reply,  ///< a request failed; body: msg::Reason
  exit,         ///< ends an actor; body: msg::Reason
  monitor,      ///< the sender wants to know when the target ends
  demonitor,    ///< the sender does not want to know any more
  link,         ///< when the source ends so shall the target
  unlink,       ///< takes a link back
  down,         ///< the source, which the target node monitors, has ended; body: msg::Reason
  credit,       ///< the target has done with `message_id` messages of `type` bytes from the sender
};

/// The fixed part of a frame, little-endian as it stands in memory.
struct FrameHeader {
  FrameKind kind = FrameKind::data;
  std::uint8_t flags = 0;          ///< where body and blob are: see frame_codec.hpp
  std::uint16_t reserved = 0;      ///< 0
  std::uint32_t body_bytes = 0;    ///< length of the body, a multiple of 8
  std::uint64_t blob_bytes = 0;    ///< length of the blob
  std::uint32_t remaining_ms = 0;  ///< time that the asker still waits, 0: no limit
  std::uint32_t reserved2 = 0;     ///< 0
  std::uint64_t source = 0;        ///< number of the sending actor, 0: none
  std::uint64_t target = 0;        ///< number of the receiving actor
  std::uint64_t message_id = 0;    ///< pairs a reply with its request
  std::uint64_t type = 0;          ///< Cap'n Proto id of the body's struct
};
static_assert(sizeof(FrameHeader) == 56);

/// What one node sends another: a header, a Cap'n Proto message, raw bytes.
struct Frame {
  FrameHeader header;
  Slice body;
  Slice blob;

  [[nodiscard]] std::size_t size() const { return sizeof header + body.size() + blob.size(); }
};

/// The most that a frame may carry.
constexpr std::uint64_t max_body_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t max_blob_bytes = std::uint64_t{1} << 30;

/// Checks what can be checked of a header that came from outside.
[[nodiscard]] Result<void> check_frame_header(const FrameHeader& header);

}  // namespace troupe
