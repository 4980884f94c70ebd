// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/wire/buffer_pool.hpp"
#include "actors/net/wire/session_key.hpp"
#include "messages/frame.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe {

/// What one active message carries in front: some frames between two nodes, one after the other.
///
///     envelope | frame header, body, blob | frame header, body, blob | ...      the AM header
///     body and blob of the last frame, where they are too long for the AM header  the AM payload
///
/// The tag covers the envelope, everything in the AM header, and a body in the payload; a blob in
/// the payload only where the connection is encrypted (then it has a tag of its own behind it).
struct Envelope {
  static constexpr std::uint32_t magic_number = 0x32505254;  // "TRP2"
  static constexpr std::uint8_t encrypted = 1;

  std::uint32_t magic = magic_number;
  std::uint8_t version = 1;
  std::uint8_t flags = 0;
  std::uint16_t frames = 0;
  std::uint64_t session = 0;   ///< the number that the receiving node gave to the sending one
  std::uint64_t sequence = 0;  ///< 0, 1, 2, ... per direction of a connection
  Tag tag{};
};
static_assert(sizeof(Envelope) == 40);

/// One active message, ready to go.
struct Sealed {
  std::string header;
  Slice payload;

  [[nodiscard]] std::size_t size() const { return header.size() + payload.size(); }
};

/// Packs frames for one peer into active messages.
class FrameWriter {
 public:
  /// `header_limit`: the most that UCX takes as AM header.
  explicit FrameWriter(std::size_t header_limit) : header_limit_(header_limit) {}

  /// Does the frame still go into this message?
  [[nodiscard]] bool fits(const Frame& frame) const;
  void add(const Frame& frame);
  [[nodiscard]] bool empty() const { return envelope_.frames == 0; }
  /// Closes the message; the next one is empty again.
  [[nodiscard]] Sealed seal(std::uint64_t session, std::uint64_t sequence, const SessionKey& key,
                            bool encrypt);

 private:
  std::size_t header_limit_;
  Envelope envelope_;
  std::string header_;
  Slice body_;  ///< of the last frame, when it goes into the payload
  Slice blob_;
};

/// Reads an envelope without looking at what follows.
[[nodiscard]] Result<Envelope> parse_envelope(std::span<const std::byte> header);

/// Checks and unpacks one active message. `encrypt`: what this connection agreed on; a message that
/// differs is refused. The frames' bodies and blobs stay where they are in `header` and `payload`.
[[nodiscard]] Result<std::vector<Frame>> open_frames(const Buffer& header, const Buffer& payload,
                                                     const SessionKey& key, bool encrypt);

}  // namespace troupe
