// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/credit_returns.hpp"

#include <boost/test/unit_test.hpp>

#include <numeric>
#include <random>
#include <thread>

namespace troupe {
namespace {

const NodeId peer{"peer", 1};

std::vector<int> give_back(SendCredits<int>& credits, Amount done) {
  std::vector<int> ready;
  credits.give_back(5, done, [&](int item) { ready.push_back(item); });
  return ready;
}

Frame frame_of(std::size_t bytes, ActorNumber target = 5) {
  Frame frame;
  frame.header.target = target;
  frame.body = Slice::own(std::vector<std::uint64_t>(1));
  if (bytes > 64) frame.blob = Slice::own(std::vector<std::uint8_t>(bytes - 64));
  return frame;
}

BOOST_AUTO_TEST_CASE(a_sender_stops_at_the_window_and_goes_on_in_order) {
  SendCredits<int> credits({.messages = 4, .bytes = 1000000});
  std::vector<int> sent;
  for (int i = 0; i < 10; ++i) {
    credits.charge(5, 100) ? sent.push_back(i) : credits.park(5, 100, i);
  }
  BOOST_TEST(sent.size() == 4u);
  for (const int item : give_back(credits, {2, 200})) sent.push_back(item);
  BOOST_TEST(sent.size() == 6u);
  BOOST_TEST(!credits.charge(5, 100));  // others wait before it
  for (const int item : give_back(credits, {6, 600})) sent.push_back(item);
  std::vector<int> expected(10);
  std::iota(expected.begin(), expected.end(), 0);
  BOOST_TEST(sent == expected);
}

BOOST_AUTO_TEST_CASE(bytes_count_as_well_and_one_item_is_never_too_large) {
  SendCredits<int> credits({.messages = 100, .bytes = 1000});
  BOOST_TEST(credits.charge(5, 5000));
  BOOST_TEST(!credits.charge(5, 1));
  credits.park(5, 1, 1);
  BOOST_TEST(give_back(credits, {1, 5000}).size() == 1u);
}

BOOST_AUTO_TEST_CASE(one_reader_that_stops_does_not_stop_others) {
  SendCredits<int> credits({.messages = 2, .bytes = 1000});
  BOOST_TEST(credits.charge(5, 1));
  BOOST_TEST(credits.charge(5, 1));
  BOOST_TEST(!credits.charge(5, 1));
  BOOST_TEST(credits.charge(6, 1));
}

BOOST_AUTO_TEST_CASE(credit_that_nobody_owes_does_no_harm) {
  SendCredits<int> credits({.messages = 2, .bytes = 1000});
  BOOST_TEST(give_back(credits, {UINT64_MAX, UINT64_MAX}).empty());
  BOOST_TEST(credits.charge(5, 1));
  BOOST_TEST(give_back(credits, {UINT64_MAX, UINT64_MAX}).empty());
  BOOST_TEST(credits.charge(5, 1));
}

BOOST_AUTO_TEST_CASE(credit_comes_back_when_the_bytes_are_let_go_and_not_before) {
  int due = 0;
  const auto returns = std::make_shared<CreditReturns>(
      CreditWindow{.messages = 4, .bytes = 1000000}, [&] { ++due; });
  std::vector<Frame> held;
  for (int i = 0; i < 4; ++i) {
    held.push_back(frame_of(1000));
    BOOST_TEST(returns->watch(peer, std::span(&held.back(), 1)));
  }
  BOOST_TEST(returns->collect().empty());
  held.pop_back();
  BOOST_TEST(due == 0);
  held.pop_back();  // half a window
  BOOST_TEST(due == 1);
  const auto back = returns->collect();
  BOOST_REQUIRE(back.size() == 1u);
  BOOST_TEST(back[0].first.second == 5u);
  BOOST_TEST(back[0].second.messages == 2u);
  const auto size = held.back().size();
  BOOST_TEST(back[0].second.bytes == 2 * size);
  // A slice of the blob alone holds the credit, too.
  const Slice blob = held.back().blob;
  held.clear();
  BOOST_TEST(returns->collect().empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_ignores_its_credit_is_found_out) {
  const auto returns =
      std::make_shared<CreditReturns>(CreditWindow{.messages = 4, .bytes = 1000000}, nullptr);
  std::vector<Frame> held;
  bool good = true;
  for (int i = 0; i < 9; ++i) {
    held.push_back(frame_of(64));
    good = returns->watch(peer, std::span(&held.back(), 1));
  }
  BOOST_TEST(!good);
}

BOOST_AUTO_TEST_CASE(bytes_that_outlive_peer_and_transport_are_no_fault) {
  auto returns =
      std::make_shared<CreditReturns>(CreditWindow{.messages = 2, .bytes = 1000000}, nullptr);
  auto frame = frame_of(100);
  auto other = frame_of(100);
  BOOST_TEST(returns->watch(peer, std::span(&frame, 1)));
  BOOST_TEST(returns->watch(peer, std::span(&other, 1)));
  returns->forget(peer);
  frame = {};
  BOOST_TEST(returns->collect().empty());
  returns->close();
  returns.reset();
  other = {};
}

BOOST_AUTO_TEST_CASE(frames_of_one_batch_are_done_with_one_by_one) {
  const auto returns =
      std::make_shared<CreditReturns>(CreditWindow{.messages = 4, .bytes = 1000000}, nullptr);
  std::vector<Frame> frames(4, frame_of(64, 5));
  frames[1].header.message_id = std::uint64_t{1} << 63;  // a reply: needs none
  const std::weak_ptr<const void> bytes = frames[0].body.owner();
  BOOST_TEST(returns->watch(peer, frames));
  BOOST_TEST(bytes.lock() != nullptr);
  frames[0] = {};
  frames[1] = {};
  BOOST_TEST(returns->collect().empty());
  frames[2] = {};
  const auto back = returns->collect();
  BOOST_REQUIRE(back.size() == 1u);
  BOOST_TEST(back[0].second.messages == 2u);
  BOOST_TEST(bytes.lock() != nullptr);  // a batch keeps its bytes together
  frames.clear();
  BOOST_TEST(bytes.lock() == nullptr);
}

BOOST_AUTO_TEST_CASE(targets_without_end_take_bounded_memory_and_their_credit_comes_back) {
  const auto returns =
      std::make_shared<CreditReturns>(CreditWindow{.messages = 1024, .bytes = 1000000}, nullptr);
  auto kept = frame_of(64, 1);
  BOOST_TEST(returns->watch(peer, std::span(&kept, 1)));
  std::uint64_t back = 0;
  for (ActorNumber target = 2; target < 20002; ++target) {
    auto frame = frame_of(64, target);
    BOOST_REQUIRE(returns->watch(peer, std::span(&frame, 1)));
    frame = {};
    for (const auto& [key, amount] : returns->collect()) {
      BOOST_TEST(key.second != 1u);
      back += amount.messages;
    }
    BOOST_REQUIRE(returns->accounts(peer) <= 2048u);
  }
  BOOST_TEST(back + 2048 >= 20000u);
}

BOOST_AUTO_TEST_CASE(random_traffic_never_exceeds_the_window_and_never_stalls) {
  std::mt19937 random(1);
  const CreditWindow window{.messages = 16, .bytes = 20000};
  SendCredits<std::size_t> credits(window);
  const auto returns = std::make_shared<CreditReturns>(window, nullptr);
  std::vector<Frame> reader;
  std::size_t arrived = 0;
  const auto arrive = [&](std::size_t size) {
    reader.push_back(frame_of(size));
    ++arrived;
    BOOST_REQUIRE(returns->watch(peer, std::span(&reader.back(), 1)));
    BOOST_REQUIRE(reader.size() <= 2 * window.messages);
  };
  for (int i = 0; i < 5000; ++i) {
    const std::size_t size = 64 + random() % 3000;
    credits.charge(5, frame_of(size).size()) ? arrive(size)
                                             : credits.park(5, frame_of(size).size(), size);
    for (auto drop = random() % 4; drop > 0 && !reader.empty(); --drop)
      reader.erase(reader.begin());
    for (const auto& [key, amount] : returns->collect()) {
      credits.give_back(5, amount, arrive);
    }
  }
  while (arrived < 5000) {
    BOOST_REQUIRE(!reader.empty());
    reader.clear();
    for (const auto& [key, amount] : returns->collect()) {
      credits.give_back(5, amount, arrive);
    }
  }
}

BOOST_AUTO_TEST_CASE(bytes_that_many_threads_let_go_are_all_given_back) {
  constexpr std::uint64_t messages = 20000;
  const auto returns = std::make_shared<CreditReturns>(
      CreditWindow{.messages = 64, .bytes = std::uint64_t{1} << 40}, nullptr);
  std::vector<std::vector<Frame>> shares(2);
  for (std::uint64_t i = 0; i < messages / 10; ++i) {
    std::vector<Frame> frames(10, frame_of(64, 5));
    (void)returns->watch(peer, frames);  // more than its window, which is not the matter here
    for (auto& frame : frames) shares[i % 2].push_back(std::move(frame));
  }
  std::thread first([&] { shares[0].clear(); });
  std::thread second([&] { shares[1].clear(); });
  std::uint64_t back = 0;
  const auto size = frame_of(64, 5).size();
  const auto collect = [&] {
    for (const auto& [key, amount] : returns->collect()) {
      back += amount.messages;
      BOOST_TEST(amount.bytes % size == 0);
    }
  };
  while (back + 64 < messages / 2) collect();
  first.join();
  second.join();
  collect();
  BOOST_TEST(back + 32 > messages);
}

}  // namespace
}  // namespace troupe
