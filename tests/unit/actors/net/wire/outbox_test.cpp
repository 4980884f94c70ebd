// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/outbox.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>

namespace troupe {
namespace {

const NodeId peer{"peer", 1};
const NodeId other{"other", 2};

Frame frame_of(std::uint64_t number, FrameKind kind = FrameKind::data) {
  Frame frame;
  frame.header.kind = kind;
  frame.header.message_id = number;
  return frame;
}

std::vector<Outgoing> take(Outbox& outbox) {
  std::vector<Outgoing> frames;
  outbox.take(frames);
  return frames;
}

BOOST_AUTO_TEST_CASE(frames_come_out_in_the_order_in_which_each_thread_put_them_in) {
  Outbox outbox;
  const auto put = [&](std::uint64_t from) {
    for (std::uint64_t i = 0; i < 10000; ++i) {
      BOOST_REQUIRE(outbox.put(i % 3 == 0 ? other : peer, frame_of(from + i)));
    }
  };
  std::thread first([&] { put(0); });
  std::thread second([&] { put(100000); });
  std::uint64_t next[2] = {0, 100000};
  while (next[0] + next[1] < 120000) {
    for (const auto& outgoing : take(outbox)) {
      const auto number = outgoing.frame.header.message_id;
      BOOST_REQUIRE(number == next[number / 100000]++);
      const auto& to = outgoing.charge.backlog()->peer();
      BOOST_REQUIRE((to == other) == (number % 100000 % 3 == 0));
    }
  }
  first.join();
  second.join();
}

BOOST_AUTO_TEST_CASE(too_much_for_one_peer_is_refused_until_some_of_it_has_gone) {
  Outbox outbox;
  for (std::size_t i = 0; i < Backlog::max_frames; ++i) {
    BOOST_REQUIRE(outbox.put(peer, frame_of(i)));
  }
  BOOST_TEST(!outbox.put(peer, frame_of(0)));
  BOOST_TEST(!outbox.pass(peer, frame_of(0)));
  BOOST_TEST(outbox.put(other, frame_of(0)));
  BOOST_TEST(outbox.put(peer, frame_of(0, FrameKind::monitor)));  // not data: always taken
  auto taken = take(outbox);
  BOOST_TEST(!outbox.put(peer, frame_of(0)));  // taken, and not gone
  taken.resize(Backlog::max_frames - 10);
  for (int i = 0; i < 10; ++i) BOOST_TEST(outbox.put(peer, frame_of(0)));
  BOOST_TEST(!outbox.put(peer, frame_of(0)));
}

BOOST_AUTO_TEST_CASE(bytes_count_as_well) {
  Outbox outbox;
  auto large = frame_of(0);
  large.blob = Slice::own(std::vector<std::uint8_t>(Backlog::max_bytes / 4));
  for (int i = 0; i < 4; ++i) BOOST_TEST(outbox.put(peer, large));
  BOOST_TEST(!outbox.put(peer, frame_of(0)));
  take(outbox).clear();
  BOOST_TEST(outbox.put(peer, frame_of(0)));
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_peer_that_is_gone_does_no_harm) {
  Outbox outbox;
  for (int i = 0; i < 100; ++i) BOOST_TEST(outbox.put(peer, frame_of(0)));
  auto taken = take(outbox);
  outbox.forget(peer);
  outbox.forget(peer);
  BOOST_TEST(outbox.put(peer, frame_of(1)));
  taken.clear();
  outbox.forget(peer);
  take(outbox).clear();
}

BOOST_AUTO_TEST_CASE(who_sleeps_is_woken_and_who_has_work_does_not_sleep) {
  Outbox outbox;
  BOOST_TEST(outbox.may_sleep());
  outbox.awake();
  BOOST_TEST(outbox.put(peer, frame_of(0)));
  BOOST_TEST(!outbox.may_sleep());
  outbox.awake();
  BOOST_TEST(!outbox.may_sleep());
  take(outbox).clear();
  BOOST_TEST(outbox.may_sleep());
  outbox.awake();
  outbox.call({{"127.0.0.1", 1}, {}});
  BOOST_TEST(!outbox.may_sleep());
  BOOST_TEST(outbox.take_calls().size() == 1u);
  outbox.awake();
  BOOST_TEST(outbox.may_sleep());
}

}  // namespace
}  // namespace troupe
