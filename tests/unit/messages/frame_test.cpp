// SPDX-License-Identifier: Apache-2.0
#include "messages/frame.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(each_thing_that_is_wrong_with_a_header_is_refused) {
  const auto refused = [](auto&& spoil) {
    FrameHeader header;
    spoil(header);
    return !check_frame_header(header);
  };
  BOOST_TEST(!refused([](FrameHeader&) {}));
  BOOST_TEST(refused([](FrameHeader& h) { h.kind = static_cast<FrameKind>(0); }));
  BOOST_TEST(refused([](FrameHeader& h) { h.kind = static_cast<FrameKind>(99); }));
  BOOST_TEST(refused([](FrameHeader& h) { h.reserved = 1; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.reserved2 = 1; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.body_bytes = 7; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.body_bytes = max_body_bytes + 8; }));
  BOOST_TEST(refused([](FrameHeader& h) { h.blob_bytes = max_blob_bytes + 1; }));
}

}  // namespace
}  // namespace troupe
