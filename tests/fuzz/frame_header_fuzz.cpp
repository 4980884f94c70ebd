// SPDX-License-Identifier: Apache-2.0
//
// An active message as it comes from UCX. The first byte: bit 0 puts an envelope in front whose tag
// is right, as a hostile member would; bit 1 lets the tag cover the payload; bit 2 encrypts. Two
// bytes more say how long the AM header is; what is left is the payload.
#include "actors/base/assert.hpp"
#include "actors/net/wire/frame_codec.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

using Bytes = std::span<const std::uint8_t>;
constexpr std::uint64_t sequence = 3;

Buffer copy_of(BufferPool& pool, Bytes bytes, std::size_t before, std::size_t behind) {
  auto buffer = pool.get(before + bytes.size() + behind);
  std::memset(buffer.memory.get(), 0, buffer.size);
  if (!bytes.empty()) std::memcpy(buffer.memory.get() + before, bytes.data(), bytes.size());
  return buffer;
}

void put(std::byte* to, const auto& value) { std::memcpy(to, &value, sizeof value); }

/// Makes header and payload what a partner with the key would send.
void seal(Envelope envelope, const SessionKey& key, bool payload_too, Buffer& header,
          Buffer& payload) {
  const auto clear = std::as_bytes(std::span(&envelope, 1));
  const auto frames = header.bytes().subspan(sizeof envelope);
  Tag tag;
  if ((envelope.flags & Envelope::encrypted) != 0) {
    tag = key.encrypt(sequence, 0, clear, frames);
    const auto size = payload.size - sizeof tag;
    put(payload.memory.get() + size, key.encrypt(sequence, 1, {}, payload.bytes().first(size)));
  } else {
    put(header.memory.get(), envelope);
    tag = payload_too ? key.tag({header.bytes(), payload.bytes()}) : key.tag({header.bytes()});
  }
  envelope.tag = tag;
  put(header.memory.get(), envelope);
}

void check(const Result<std::vector<Frame>>& frames, std::size_t room) {
  if (!frames) return;
  std::size_t bytes = 0;
  for (const auto& frame : *frames) {
    TROUPE_ASSERT(frame.header.body_bytes == frame.body.size() &&
                  frame.header.blob_bytes == frame.blob.size());
    bytes += frame.size();
    for (const auto& part : {frame.body, frame.blob}) {
      if (!part.empty()) TROUPE_ASSERT(part.bytes().front() == part.data()[0]);
    }
  }
  TROUPE_ASSERT(bytes <= room);
}

void play(Bytes input) {
  static const SessionKey key(Digest{});
  static BufferPool pool;
  if (input.size() < 4) return;
  const bool genuine = (input[0] & 1) != 0;
  const bool encrypt = (input[0] & 4) != 0;
  const std::uint16_t frames = input[3];
  const auto size = std::min<std::size_t>(input[1] | input[2] << 8, input.size() - 4);
  const auto rest = input.subspan(4);
  auto header = copy_of(pool, rest.first(size), genuine ? sizeof(Envelope) : 0, 0);
  auto payload = copy_of(pool, rest.subspan(size), 0, genuine && encrypt ? sizeof(Tag) : 0);
  if (genuine) {
    Envelope envelope;
    envelope.frames = frames;
    envelope.session = 1;
    envelope.sequence = sequence;
    envelope.flags = encrypt ? Envelope::encrypted : 0;
    seal(envelope, key, (input[0] & 2) != 0, header, payload);
  }
  check(open_frames(header, payload, key, encrypt), header.size + payload.size);
}

}  // namespace
}  // namespace troupe

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  troupe::play({data, size});
  return 0;
}
