// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/frame_codec.hpp"

#include <cstring>
#include <utility>

namespace troupe {
namespace {

constexpr std::uint8_t body_in_payload = 1;
constexpr std::uint8_t blob_in_payload = 2;

std::size_t padded(std::size_t size) { return (size + 7) / 8 * 8; }

std::span<std::byte> bytes_of(std::string& text) {
  return std::as_writable_bytes(std::span(text.data(), text.size()));
}

void append(std::string& to, const Slice& bytes) {
  to.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  to.resize(padded(to.size()));
}

Slice join(const Slice& first, const Slice& second, std::size_t room_behind) {
  std::vector<std::byte> all;
  all.reserve(first.size() + second.size() + room_behind);
  all.insert(all.end(), first.bytes().begin(), first.bytes().end());
  all.insert(all.end(), second.bytes().begin(), second.bytes().end());
  all.resize(all.size() + room_behind);
  return Slice::own(std::move(all));
}

void set_tag(std::string& header, const Tag& tag) {
  std::memcpy(header.data() + offsetof(Envelope, tag), tag.data(), tag.size());
}

/// The payload, encrypted, with its tag behind it.
Slice encrypt_payload(const Slice& body, const Slice& blob, std::uint64_t sequence,
                      const SessionKey& key) {
  const auto size = body.size() + blob.size();
  if (size == 0) return {};
  auto payload = join(body, blob, sizeof(Tag));
  auto* data = const_cast<std::byte*>(payload.data());  // ours alone until it is sent
  const auto tag = key.encrypt(sequence, 1, {}, {data, size});
  std::memcpy(data + size, tag.data(), tag.size());
  return payload;
}

/// Takes frames off an AM header whose tag was right; lengths may still be anything.
class FrameReader {
 public:
  FrameReader(const Buffer& header, const Buffer& payload, std::size_t payload_size)
      : header_(header),
        payload_(payload),
        rest_(header.bytes().subspan(sizeof(Envelope))),
        payload_rest_(payload.bytes().first(payload_size)) {}

  Result<Frame> next() {
    Frame frame;
    if (rest_.size() < sizeof frame.header) return broken();
    std::memcpy(&frame.header, rest_.data(), sizeof frame.header);
    rest_ = rest_.subspan(sizeof frame.header);
    if (auto good = check_frame_header(frame.header); !good) return Failure(good.error());
    if (!take(frame.header.body_bytes, frame.header.flags & body_in_payload, frame.body) ||
        !take(frame.header.blob_bytes, frame.header.flags & blob_in_payload, frame.blob)) {
      return broken();
    }
    return frame;
  }

  [[nodiscard]] bool at_end() const { return rest_.empty() && payload_rest_.empty(); }

  static Failure broken() {
    return fail(ErrorCode::corrupt, "a frame whose lengths do not fit together");
  }

 private:
  bool take(std::size_t size, bool from_payload, Slice& into) {
    auto& rest = from_payload ? payload_rest_ : rest_;
    const auto whole = from_payload ? size : padded(size);
    if (whole < size || whole > rest.size()) return false;
    if (size > 0) into = Slice(from_payload ? payload_.memory : header_.memory, rest.first(size));
    rest = rest.subspan(whole);
    return true;
  }

  const Buffer& header_;
  const Buffer& payload_;
  std::span<std::byte> rest_;
  std::span<std::byte> payload_rest_;
};

/// The bytes of the payload that the tag of a message without encryption covers: a body at its
/// front. Only the last frame may have one, and where frames begin is not trusted yet: so all of a
/// message's frame headers are walked, with every length checked.
std::size_t body_bytes_in_payload(std::span<const std::byte> frames, std::uint16_t count) {
  std::size_t bytes = 0;
  for (std::uint16_t i = 0; i < count; ++i) {
    FrameHeader header;
    if (frames.size() < sizeof header) return bytes;
    std::memcpy(&header, frames.data(), sizeof header);
    std::size_t skip = sizeof header;
    if ((header.flags & body_in_payload) != 0) {
      bytes = header.body_bytes;
    } else {
      skip += padded(header.body_bytes);
    }
    if ((header.flags & blob_in_payload) == 0) {
      if (header.blob_bytes > frames.size()) return bytes;
      skip += padded(header.blob_bytes);
    }
    if (skip > frames.size()) return bytes;
    frames = frames.subspan(skip);
  }
  return bytes;
}

Result<std::size_t> authenticate(const Envelope& envelope, const Buffer& header,
                                 const Buffer& payload, const SessionKey& key) {
  const auto forged = [] { return fail(ErrorCode::permission_denied, "a forged frame"); };
  Envelope clear = envelope;
  clear.tag = {};
  const auto clear_bytes = std::as_bytes(std::span(&clear, 1));
  const auto frames = header.bytes().subspan(sizeof envelope);
  if ((envelope.flags & Envelope::encrypted) != 0) {
    if (!key.decrypt(envelope.sequence, 0, clear_bytes, frames, envelope.tag)) return forged();
    if (payload.size == 0) return std::size_t{0};
    if (payload.size < sizeof(Tag)) return forged();
    const auto size = payload.size - sizeof(Tag);
    Tag tag;
    std::memcpy(tag.data(), payload.memory.get() + size, tag.size());
    if (!key.decrypt(envelope.sequence, 1, {}, payload.bytes().first(size), tag)) return forged();
    return size;
  }
  std::memcpy(header.memory.get(), &clear, sizeof clear);
  const auto body = body_bytes_in_payload(frames, envelope.frames);
  if (body > payload.size) return FrameReader::broken();
  const auto tag = body == 0 ? key.tag({header.bytes()})
                             : key.tag({header.bytes(), payload.bytes().first(body)});
  if (!equal_tags(tag, envelope.tag)) return forged();
  return payload.size;
}

}  // namespace

bool FrameWriter::fits(const Frame& frame) const {
  if (empty()) return true;
  if (!body_.empty() || !blob_.empty() || envelope_.frames == UINT16_MAX) return false;
  // A long body or blob may go into the payload, but only where the header stays within its limit.
  const auto inlined = sizeof(FrameHeader) + padded(frame.body.size()) + padded(frame.blob.size());
  return header_.size() + inlined <= header_limit_;
}

void FrameWriter::add(const Frame& frame) {
  if (empty()) header_.assign(sizeof(Envelope), '\0');
  ++envelope_.frames;
  FrameHeader header = frame.header;
  header.body_bytes = static_cast<std::uint32_t>(frame.body.size());
  header.blob_bytes = frame.blob.size();
  header.flags = 0;
  const auto room = header_limit_ - header_.size() - sizeof header;
  const bool body_inline = padded(frame.body.size()) <= room;
  const auto left = room - (body_inline ? padded(frame.body.size()) : 0);
  const bool blob_inline = padded(frame.blob.size()) <= left;
  if (!body_inline) header.flags |= body_in_payload;
  if (!blob_inline) header.flags |= blob_in_payload;
  header_.append(reinterpret_cast<const char*>(&header), sizeof header);
  body_inline ? append(header_, frame.body) : void(body_ = frame.body);
  blob_inline ? append(header_, frame.blob) : void(blob_ = frame.blob);
}

Sealed FrameWriter::seal(std::uint64_t session, std::uint64_t sequence, const SessionKey& key,
                         bool encrypt) {
  envelope_.session = session;
  envelope_.sequence = sequence;
  envelope_.flags = encrypt ? Envelope::encrypted : 0;
  std::memcpy(header_.data(), &envelope_, sizeof envelope_);
  const auto all = bytes_of(header_);
  Sealed sealed;
  if (encrypt) {
    const auto clear = std::as_bytes(std::span(&envelope_, 1));
    set_tag(header_, key.encrypt(sequence, 0, clear, all.subspan(sizeof(Envelope))));
    sealed.payload = encrypt_payload(body_, blob_, sequence, key);
  } else {
    set_tag(header_, body_.empty() ? key.tag({all}) : key.tag({all, body_.bytes()}));
    sealed.payload = body_.empty()   ? std::move(blob_)
                     : blob_.empty() ? std::move(body_)
                                     : join(body_, blob_, 0);
  }
  sealed.header = std::move(header_);
  *this = FrameWriter(header_limit_);
  return sealed;
}

Result<Envelope> parse_envelope(std::span<const std::byte> header) {
  Envelope envelope;
  if (header.size() < sizeof envelope) {
    return fail(ErrorCode::corrupt, "a message of " + std::to_string(header.size()) + " bytes");
  }
  std::memcpy(&envelope, header.data(), sizeof envelope);
  if (envelope.magic != Envelope::magic_number) {
    return fail(ErrorCode::corrupt, "a message without Troupe's magic number");
  }
  if (envelope.version != 1 || (envelope.flags & ~Envelope::encrypted) != 0) {
    return fail(ErrorCode::version_mismatch, "a message of another format");
  }
  if (envelope.frames == 0) return fail(ErrorCode::corrupt, "a message without frames");
  return envelope;
}

Result<std::vector<Frame>> open_frames(const Buffer& header, const Buffer& payload,
                                       const SessionKey& key, bool encrypt) {
  const auto envelope = parse_envelope(header.bytes());
  if (!envelope) return Failure(envelope.error());
  if (((envelope->flags & Envelope::encrypted) != 0) != encrypt) {
    return fail(ErrorCode::permission_denied, "a message that should be encrypted and is not");
  }
  const auto size = authenticate(*envelope, header, payload, key);
  if (!size) return Failure(size.error());
  FrameReader reader(header, payload, *size);
  std::vector<Frame> frames;
  frames.reserve(envelope->frames);
  for (std::uint16_t i = 0; i < envelope->frames; ++i) {
    auto frame = reader.next();
    if (!frame) return Failure(frame.error());
    frames.push_back(std::move(*frame));
  }
  if (!reader.at_end()) return FrameReader::broken();
  return frames;
}

}  // namespace troupe
