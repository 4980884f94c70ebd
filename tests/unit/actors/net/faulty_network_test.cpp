// SPDX-License-Identifier: Apache-2.0
#include "actors/net/faulty_transport.hpp"
#include "tests/support/recording_handler.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

namespace troupe {
namespace {

using Kind = FaultEvent::Kind;
using test::eventually;
using test::RecordingHandler;

/// Nodes a and b of a network that follows a plan, connected.
struct Pair {
  explicit Pair(FaultPlan plan)
      : network(std::move(plan)),
        a(network.make({{"a", 1}, {}, "1", 1})),
        b(network.make({{"b", 1}, {}, "1", 1})),
        a_info(a->start(at_a).value()),
        b_info(b->start(at_b).value()) {
    a->connect(b_info.control, b_info.id);
    BOOST_REQUIRE(eventually([&] { return !at_a.log().up.empty() && !at_b.log().up.empty(); }));
  }

  void send(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      Frame frame;
      frame.header.message_id = next++;
      frame.body = Slice::own(std::vector<std::uint64_t>(4, 7));
      frame.blob = Slice::own(std::string("bytes"));
      (void)a->send(b_info.id, std::move(frame));
    }
  }
  std::vector<std::uint64_t> arrived() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& [from, frame] : at_b.log().frames) numbers.push_back(frame.header.message_id);
    return numbers;
  }
  bool gets(std::size_t count) const {
    return eventually([&] { return arrived().size() >= count; });
  }
  bool both_are_down() const {
    return eventually([&] { return at_a.log().down.size() == 1 && at_b.log().down.size() == 1; });
  }

  FaultyNetwork network;
  RecordingHandler at_a;
  RecordingHandler at_b;
  std::unique_ptr<Transport> a;
  std::unique_ptr<Transport> b;
  PeerInfo a_info;
  PeerInfo b_info;
  std::uint64_t next = 0;
};

std::vector<std::uint64_t> first_numbers(std::size_t count) {
  std::vector<std::uint64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

BOOST_AUTO_TEST_CASE(without_faults_frames_arrive_as_they_were_sent) {
  Pair pair({});
  pair.send(100);
  BOOST_REQUIRE(pair.gets(100));
  BOOST_TEST(pair.arrived() == first_numbers(100));
  const auto frame = pair.at_b.log().frames.front().second;
  BOOST_TEST(frame.body.size() == 32u);
  BOOST_TEST(frame.blob.size() == 5u);
}

BOOST_AUTO_TEST_CASE(delays_keep_the_order_of_a_pair) {
  FaultPlan plan;
  plan.delay = 0.3;
  Pair pair(plan);
  pair.send(300);
  BOOST_REQUIRE(pair.gets(300));
  BOOST_TEST(pair.arrived() == first_numbers(300));
  BOOST_TEST(pair.network.counts().delayed > 50u);
}

BOOST_AUTO_TEST_CASE(a_receiver_that_checks_puts_frames_into_order_and_drops_duplicates) {
  FaultPlan plan;
  plan.reorder = 0.3;
  plan.duplicate = 0.3;
  Pair pair(plan);
  pair.send(300);
  BOOST_REQUIRE(pair.gets(300));
  const auto counts = pair.network.counts();
  BOOST_TEST(counts.reordered > 50u);
  BOOST_TEST(counts.duplicated > 50u);
  BOOST_REQUIRE(eventually([&] {
    return pair.network.counts().dropped_duplicates == pair.network.counts().duplicated;
  }));
  BOOST_TEST(pair.arrived() == first_numbers(300));
}

BOOST_AUTO_TEST_CASE(an_unchecked_receiver_sees_frames_out_of_order_and_twice) {
  FaultPlan plan;
  plan.reorder = 0.3;
  plan.duplicate = 0.3;
  plan.checked = false;
  Pair pair(plan);
  pair.send(300);
  BOOST_REQUIRE(pair.gets(301));
  BOOST_REQUIRE(
      eventually([&] { return pair.arrived().size() == 300 + pair.network.counts().duplicated; }));
  auto numbers = pair.arrived();
  BOOST_TEST(!std::is_sorted(numbers.begin(), numbers.end()));
}

BOOST_AUTO_TEST_CASE(a_changed_frame_is_counted_and_ends_its_connection) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    FaultPlan plan;
    plan.seed = seed;
    plan.corrupt = 0.05;
    Pair pair(plan);
    pair.send(200);
    BOOST_TEST_CONTEXT(to_string(plan)) {
      BOOST_REQUIRE(pair.both_are_down());
      BOOST_TEST(pair.arrived() == first_numbers(pair.arrived().size()));
      BOOST_TEST(pair.network.counts().dropped_corrupt >= 1u);
      BOOST_CHECK(pair.at_b.log().down.front().second.code == ErrorCode::corrupt);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_cut_is_noticed_on_both_sides_after_the_last_frame_and_is_for_ever) {
  FaultPlan plan;
  plan.events = {{Kind::cut, 50, "a", "b"}};
  Pair pair(plan);
  pair.send(100);
  BOOST_REQUIRE(pair.both_are_down());
  const auto numbers = pair.arrived();
  BOOST_TEST(numbers.size() <= 50u);
  BOOST_TEST(numbers == first_numbers(numbers.size()));
  pair.a->connect(pair.b_info.control, pair.b_info.id);
  BOOST_REQUIRE(eventually([&] { return pair.at_a.log().failed.size() == 1; }));
  pair.send(1);
  pair.a->stop();
  BOOST_TEST(pair.arrived() == numbers);
  BOOST_TEST(pair.at_b.log().down.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_partition_in_one_direction_holds_back_that_direction_until_it_heals) {
  FaultPlan plan;
  plan.silence = std::chrono::seconds(60);
  Pair pair(plan);
  pair.network.strike(Kind::partition, "a", "b");
  pair.send(10);
  (void)pair.b->send(pair.a_info.id, {});
  BOOST_REQUIRE(eventually([&] { return pair.at_a.log().frames.size() == 1; }));
  BOOST_TEST(pair.arrived().empty());
  pair.network.strike(Kind::heal, "a", "b");
  BOOST_REQUIRE(pair.gets(10));
  BOOST_TEST(pair.arrived() == first_numbers(10));
}

BOOST_AUTO_TEST_CASE(a_partition_that_lasts_makes_both_sides_down) {
  FaultPlan plan;
  plan.silence = std::chrono::milliseconds(5);
  plan.events = {{Kind::partition, 3, "a", "b"}};
  Pair pair(plan);
  pair.send(10);
  BOOST_REQUIRE(pair.both_are_down());
  BOOST_TEST(pair.arrived() == first_numbers(3));
  BOOST_CHECK(pair.at_a.log().down.front().second.code == ErrorCode::timeout);
}

BOOST_AUTO_TEST_CASE(a_slow_reader_gets_no_more_than_its_rate) {
  FaultPlan plan;
  plan.frames_per_s = 1000;
  Pair pair(plan);
  const auto begin = std::chrono::steady_clock::now();
  pair.send(50);
  BOOST_REQUIRE(pair.gets(50));
  BOOST_CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(49));
  BOOST_TEST(pair.arrived() == first_numbers(50));
}

BOOST_AUTO_TEST_CASE(a_refused_call_is_reported) {
  FaultPlan plan;
  plan.refuse = 1;
  FaultyNetwork network(plan);
  RecordingHandler at_a;
  const auto a = network.make({{"a", 1}, {}, "1", 1});
  const auto info = a->start(at_a).value();
  a->connect(info.control, {});
  BOOST_REQUIRE(eventually([&] { return at_a.log().failed.size() == 1; }));
  BOOST_TEST(network.counts().refused_calls == 1u);
}

BOOST_AUTO_TEST_CASE(frames_of_a_node_that_stops_arrive_before_its_end) {
  FaultPlan plan;
  plan.delay = 0.5;
  Pair pair(plan);
  pair.send(100);
  pair.a->stop();
  BOOST_REQUIRE(eventually([&] { return !pair.at_b.log().down.empty(); }));
  BOOST_TEST(pair.arrived() == first_numbers(100));
}

BOOST_AUTO_TEST_CASE(equal_plans_give_equal_faults) {
  FaultPlan plan;
  plan.duplicate = 0.2;
  plan.reorder = 0.2;
  plan.corrupt = 0.02;
  plan.checked = false;
  FaultCounts counts[3];
  for (int i = 0; i < 3; ++i) {
    plan.seed = i < 2 ? 5 : 6;
    Pair pair(plan);
    pair.send(500);
    BOOST_REQUIRE(eventually([&] { return pair.network.counts().frames == 500; }));
    counts[i] = pair.network.counts();
  }
  BOOST_TEST(counts[0].duplicated == counts[1].duplicated);
  BOOST_TEST(counts[0].reordered == counts[1].reordered);
  BOOST_TEST(counts[0].corrupted == counts[1].corrupted);
  BOOST_TEST(counts[0].duplicated != counts[2].duplicated);
}

}  // namespace
}  // namespace troupe
