// SPDX-License-Identifier: Apache-2.0
#include "messages/frame.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

namespace troupe {
namespace {

std::span<const std::byte> bytes_of(const FrameHeader& header) {
  return std::as_bytes(std::span(&header, 1));
}

BOOST_AUTO_TEST_CASE(a_header_is_read_as_it_was_written) {
  FrameHeader header;
  header.kind = FrameKind::down;
  header.source = 3;
  header.body_bytes = 64;
  const auto read = parse_frame_header(bytes_of(header));
  BOOST_REQUIRE(read);
  BOOST_TEST(read->source == 3u);
  BOOST_CHECK(read->kind == FrameKind::down);
}

BOOST_AUTO_TEST_CASE(each_thing_that_is_wrong_with_a_header_is_refused) {
  const auto refused = [](auto&& spoil) {
    FrameHeader header;
    spoil(header);
    return !parse_frame_header(bytes_of(header));
  };
  BOOST_TEST(refused([](FrameHeader& h) { h.magic = 0; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.kind = static_cast<FrameKind>(0); }));
  BOOST_TEST(refused([](FrameHeader& h) { h.kind = static_cast<FrameKind>(99); }));
  BOOST_TEST(refused([](FrameHeader& h) { h.flags = 1; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.body_bytes = 7; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.body_bytes = max_body_bytes + 8; }));
  FrameHeader newer;
  newer.version = 2;
  const auto read = parse_frame_header(bytes_of(newer));
  BOOST_REQUIRE(!read);
  BOOST_CHECK(read.error().code == ErrorCode::version_mismatch);
}

BOOST_AUTO_TEST_CASE(bytes_cut_anywhere_and_random_bytes_are_refused) {
  const FrameHeader header;
  for (std::size_t size = 0; size < sizeof header; ++size) {
    BOOST_TEST(!parse_frame_header(bytes_of(header).first(size)));
  }
  std::mt19937 random(1);
  for (int round = 0; round < 10000; ++round) {
    FrameHeader junk;
    for (auto& byte : std::as_writable_bytes(std::span(&junk, 1))) byte = std::byte(random());
    BOOST_TEST(!parse_frame_header(bytes_of(junk)));
  }
}

}  // namespace
}  // namespace troupe
