// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/frame_codec.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <random>

namespace troupe {
namespace {

constexpr std::size_t limit = 8000;

SessionKey key_number(std::uint8_t number) {
  Digest secret{};
  secret[0] = std::byte{number};
  return SessionKey(secret);
}

Frame frame_of(std::uint64_t number, std::size_t body, std::size_t blob) {
  Frame frame;
  frame.header.message_id = number;
  frame.header.target = number + 1;
  if (body > 0) frame.body = Slice::own(std::vector<std::uint64_t>(body / 8, number));
  if (blob > 0) {
    frame.blob = Slice::own(std::vector<std::uint8_t>(blob, static_cast<std::uint8_t>(number)));
  }
  return frame;
}

bool equal(const Slice& a, const Slice& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

Buffer to_buffer(std::span<const std::byte> bytes) {
  static BufferPool pool;
  auto buffer = pool.get(bytes.size());
  std::copy(bytes.begin(), bytes.end(), buffer.memory.get());
  return buffer;
}

/// The message as it arrives elsewhere.
struct Arrived {
  explicit Arrived(const Sealed& sealed)
      : header(to_buffer(std::as_bytes(std::span(sealed.header)))),
        payload(to_buffer(sealed.payload.bytes())) {}

  Buffer header;
  Buffer payload;
};

std::vector<Frame> through_the_wire(const std::vector<Frame>& frames, bool encrypt,
                                    std::size_t* messages = nullptr) {
  const auto key = key_number(1);
  FrameWriter writer(limit);
  std::vector<Sealed> sealed;
  for (const auto& frame : frames) {
    if (!writer.fits(frame)) sealed.push_back(writer.seal(7, sealed.size(), key, encrypt));
    writer.add(frame);
  }
  sealed.push_back(writer.seal(7, sealed.size(), key, encrypt));
  if (messages != nullptr) *messages = sealed.size();
  std::vector<Frame> result;
  for (const auto& one : sealed) {
    BOOST_REQUIRE(one.header.size() <= limit);
    const Arrived arrived(one);
    auto opened = open_frames(arrived.header, arrived.payload, key, encrypt);
    BOOST_REQUIRE(opened);
    for (auto& frame : *opened) result.push_back(std::move(frame));
  }
  return result;
}

const auto encrypted_or_not = boost::unit_test::data::make({false, true});

BOOST_DATA_TEST_CASE(frames_of_all_sizes_come_out_as_they_went_in, encrypted_or_not, encrypt) {
  const std::size_t sizes[] = {0, 8, 64, 3000, 7800, 7904, 8000, 20000};
  std::mt19937 random(1);
  std::vector<Frame> frames;
  for (std::uint64_t i = 0; i < 500; ++i) {
    frames.push_back(frame_of(i, sizes[random() % 8], sizes[random() % 8] + random() % 3));
  }
  const auto back = through_the_wire(frames, encrypt);
  BOOST_REQUIRE(back.size() == frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    BOOST_REQUIRE(back[i].header.message_id == i);
    BOOST_REQUIRE(back[i].header.target == i + 1);
    BOOST_REQUIRE(equal(back[i].body, frames[i].body));
    BOOST_REQUIRE(equal(back[i].blob, frames[i].blob));
  }
}

BOOST_AUTO_TEST_CASE(small_frames_share_a_message) {
  std::size_t messages = 0;
  (void)through_the_wire(std::vector<Frame>(600, frame_of(1, 64, 0)), false, &messages);
  BOOST_TEST(messages <= 10u);  // 120 bytes each, 8,000 in a message
}

BOOST_DATA_TEST_CASE(no_changed_byte_of_header_or_body_goes_unnoticed, encrypted_or_not, encrypt) {
  const auto key = key_number(1);
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    FrameWriter writer(limit);
    writer.add(frame_of(1, 64, 100));
    writer.add(frame_of(2, round % 2 == 0 ? 9000 : 64, 0));
    const Arrived arrived(writer.seal(7, 3, key, encrypt));
    const auto all = arrived.header.size + arrived.payload.size;
    const auto place = random() % all;
    auto* byte = place < arrived.header.size
                     ? arrived.header.memory.get() + place
                     : arrived.payload.memory.get() + (place - arrived.header.size);
    *byte ^= static_cast<std::byte>(1 + random() % 255);
    BOOST_TEST_CONTEXT("byte " << place) {
      BOOST_REQUIRE(!open_frames(arrived.header, arrived.payload, key, encrypt));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_blob_in_the_payload_is_protected_where_the_connection_is_encrypted) {
  const auto key = key_number(1);
  FrameWriter writer(limit);
  writer.add(frame_of(1, 64, 100000));
  const auto sealed = writer.seal(7, 3, key, true);
  const auto clear = frame_of(1, 64, 100000);
  BOOST_TEST(std::memcmp(sealed.payload.data(), clear.blob.data(), 1000) != 0);
  const Arrived arrived(sealed);
  arrived.payload.memory.get()[5000] ^= std::byte{1};
  BOOST_TEST(!open_frames(arrived.header, arrived.payload, key, true));
}

BOOST_DATA_TEST_CASE(another_key_another_sequence_or_no_encryption_is_refused, encrypted_or_not,
                     encrypt) {
  FrameWriter writer(limit);
  writer.add(frame_of(1, 64, 100));
  const auto sealed = writer.seal(7, 3, key_number(1), encrypt);
  const Arrived other_key(sealed);
  BOOST_TEST(!open_frames(other_key.header, other_key.payload, key_number(2), encrypt));
  const Arrived replayed(sealed);
  const std::uint64_t later = 4;
  std::memcpy(replayed.header.memory.get() + offsetof(Envelope, sequence), &later, sizeof later);
  BOOST_TEST(!open_frames(replayed.header, replayed.payload, key_number(1), encrypt));
  const Arrived downgraded(sealed);
  BOOST_TEST(!open_frames(downgraded.header, downgraded.payload, key_number(1), !encrypt));
}

BOOST_AUTO_TEST_CASE(lengths_that_do_not_fit_are_refused_even_from_who_has_the_key) {
  const auto key = key_number(1);
  std::mt19937 random(3);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    FrameWriter writer(limit);
    writer.add(frame_of(1, 64, 100));
    writer.add(frame_of(2, 64, round % 2 == 0 ? 0 : 9000));
    const Arrived arrived(writer.seal(7, 3, key, false));
    // Changed anywhere behind the envelope, and given a good tag again.
    auto bytes = arrived.header.bytes();
    for (int change = 0; change < 3; ++change) {
      bytes[sizeof(Envelope) + random() % (bytes.size() - sizeof(Envelope))] =
          static_cast<std::byte>(random());
    }
    Envelope envelope;
    std::memcpy(&envelope, bytes.data(), sizeof envelope);
    envelope.frames = static_cast<std::uint16_t>(1 + random() % 4);
    envelope.tag = {};
    std::memcpy(bytes.data(), &envelope, sizeof envelope);
    envelope.tag = key.tag({bytes});
    std::memcpy(bytes.data(), &envelope, sizeof envelope);
    const auto opened = open_frames(arrived.header, arrived.payload, key, false);
    refused += opened ? 0 : 1;
    if (!opened) continue;
    for (const auto& frame : *opened) BOOST_REQUIRE(frame.size() <= 20000);
  }
  BOOST_TEST(refused > 10000);
}

BOOST_AUTO_TEST_CASE(random_bytes_are_refused) {
  const auto key = key_number(1);
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> junk(random() % 300);
    for (auto& byte : junk) byte = static_cast<std::byte>(random());
    if (junk.size() > 8 && round % 2 == 0) {
      const Envelope envelope;
      std::memcpy(junk.data(), &envelope, 6);
    }
    const auto header = to_buffer(junk);
    BOOST_REQUIRE(!open_frames(header, to_buffer({}), key, round % 3 == 0));
  }
}

}  // namespace
}  // namespace troupe
