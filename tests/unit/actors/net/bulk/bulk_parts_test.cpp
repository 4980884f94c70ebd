// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk_ref.hpp"
#include "actors/net/bulk/byte_credits.hpp"
#include "actors/net/bulk/this_host.hpp"
#include "actors/net/bulk/work_queue.hpp"
#include "tests/support/wait.hpp"
#include "tests/unit/actors/net/bulk/pattern.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

BOOST_AUTO_TEST_CASE(a_ref_is_read_as_it_was_written) {
  const BulkRef ref{{"node", 5}, {"::1", 99}, 1, 2, 3, -4, 5, 6, 7, 8, true};
  BOOST_TEST((test::ref_from_text(test::to_text(ref)) == ref));
}

BOOST_AUTO_TEST_CASE(ranges_must_lie_within_the_exposure) {
  const std::uint64_t most = ~std::uint64_t{0};
  const auto total = [](std::vector<BulkRange> ranges, std::uint64_t length) {
    return total_of(ranges, length);
  };
  BOOST_TEST(*total({{0, 10}, {3, 4}, {10, 0}}, 10) == 14u);
  BOOST_TEST(*total({}, 0) == 0u);
  BOOST_TEST(!total({{0, 11}}, 10));
  BOOST_TEST(!total({{11, 0}}, 10));
  BOOST_TEST(!total({{most, 1}}, 10));
  BOOST_TEST(!total({{1, most}}, most));
  BOOST_TEST(!total({{0, most}, {0, 1}}, most));
}

BOOST_AUTO_TEST_CASE(batches_hold_all_ranges_in_order_and_within_their_limits) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::vector<BulkRange> ranges(random() % 20);
    for (auto& range : ranges) range = {random() % 1000, random() % (round % 3 == 0 ? 500 : 20)};
    const BatchLimits limits{1 + random() % 100, 1 + random() % 8, 1 + random() % 80};
    std::vector<std::uint64_t> want;
    for (const auto& range : ranges) {
      for (std::uint64_t i = 0; i < range.length; ++i) want.push_back(range.offset + i);
    }
    std::vector<std::uint64_t> got;
    for (const auto& batch : in_batches(ranges, limits)) {
      BOOST_TEST(batch.at == got.size());
      BOOST_TEST(batch.bytes <= limits.bytes);
      BOOST_TEST(batch.ranges.size() <= limits.ranges);
      for (const auto& range : batch.ranges) {
        BOOST_TEST((range.length < limits.alone || batch.ranges.size() == 1));
        for (std::uint64_t i = 0; i < range.length; ++i) got.push_back(range.offset + i);
      }
      BOOST_TEST(batch.at + batch.bytes == got.size());
    }
    BOOST_TEST(got == want);
  }
}

BOOST_AUTO_TEST_CASE(who_finds_no_credits_waits_until_some_come_back) {
  ByteCredits credits(100);
  auto first = credits.take(60, Clock::now()).value();
  BOOST_TEST(!credits.take(50, Clock::now()));
  std::atomic<bool> got{false};
  std::thread waiter([&] { got = credits.take(50, Clock::now() + seconds(20)).has_value(); });
  { const auto returned = std::move(first); }
  waiter.join();
  BOOST_TEST(got);
  BOOST_TEST(credits.in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(a_demand_above_the_limit_gets_all_credits_and_no_more) {
  ByteCredits credits(100);
  const auto all = credits.take(1000, Clock::now()).value();
  BOOST_TEST(credits.in_use() == 100u);
  const auto none = credits.take(1, Clock::now());
  BOOST_REQUIRE(!none);
  BOOST_CHECK(none.error().code == ErrorCode::timeout);
}

BOOST_AUTO_TEST_CASE(bytes_in_use_never_exceed_the_limit) {
  ByteCredits credits(100);
  std::atomic<int> now{0};
  std::atomic<int> worst{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int bytes = 1 + (t * 37 + i) % 100;
        const auto held =
            credits.take(static_cast<std::uint64_t>(bytes), Clock::now() + seconds(20));
        worst = std::max<int>(worst, now += bytes);
        now -= bytes;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  BOOST_TEST(worst <= 100);
  BOOST_TEST(credits.in_use() == 0u);
}

BOOST_AUTO_TEST_CASE(a_process_is_known_by_its_start) {
  const auto own = start_time_of(::getpid());
  BOOST_REQUIRE(own);
  BOOST_TEST(*own == *start_time_of(::getpid()));
  BOOST_TEST(*own >= *start_time_of(1));
  BOOST_TEST(!start_time_of(0));
  BOOST_TEST(!start_time_of(1 << 30));
  BOOST_TEST(host_token() != 0u);
}

BOOST_AUTO_TEST_CASE(a_queue_does_all_its_work_before_it_goes) {
  std::atomic<int> done{0};
  {
    WorkQueue queue(2);
    for (int i = 0; i < 1000; ++i) queue.add([&] { ++done; });
  }
  BOOST_TEST(done == 1000);
}

}  // namespace
}  // namespace troupe
