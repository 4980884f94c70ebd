// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/peer/line_channel.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using namespace troupe::bench;

namespace {

std::pair<LineChannel, LineChannel> channels() {
  auto sockets = LineChannel::make_sockets();
  BOOST_REQUIRE(sockets.has_value());
  return {LineChannel(std::move(sockets->first)), LineChannel(std::move(sockets->second))};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(line_channel)

BOOST_AUTO_TEST_CASE(lines_arrive_one_by_one_in_order) {
  auto [ours, theirs] = channels();
  BOOST_TEST(ours.send("first").has_value());
  BOOST_TEST(ours.send("").has_value());
  BOOST_TEST(ours.send("third line").has_value());
  BOOST_TEST(theirs.receive().value() == "first");
  BOOST_TEST(theirs.receive().value() == "");
  BOOST_TEST(theirs.receive().value() == "third line");
}

BOOST_AUTO_TEST_CASE(silence_ends_at_the_deadline) {
  auto [ours, theirs] = channels();
  const auto line = theirs.receive(LineChannel::Clock::now());
  BOOST_REQUIRE(!line.has_value());
  BOOST_TEST((line.error().code == ErrorCode::timeout));
}

BOOST_AUTO_TEST_CASE(a_closed_end_is_an_error_on_the_other) {
  auto sockets = LineChannel::make_sockets();
  BOOST_REQUIRE(sockets.has_value());
  LineChannel ours(std::move(sockets->first));
  sockets->second.reset();
  BOOST_TEST((ours.receive().error().code == ErrorCode::unavailable));
  BOOST_TEST((ours.send("anybody there?").error().code == ErrorCode::unavailable));
}

BOOST_AUTO_TEST_SUITE_END()
