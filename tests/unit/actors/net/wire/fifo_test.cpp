// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/fifo.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <random>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(items_come_out_as_they_went_in) {
  Fifo<std::unique_ptr<std::size_t>> fifo;
  std::mt19937 random(1);
  std::size_t in = 0;
  std::size_t out = 0;
  for (int round = 0; round < 2000; ++round) {
    for (auto count = random() % 300; count > 0; --count) {
      fifo.push(std::make_unique<std::size_t>(in++));
    }
    for (auto count = random() % (round % 100 == 99 ? 100000 : 300); count > 0; --count) {
      if (fifo.empty()) break;
      BOOST_REQUIRE(*fifo.front() == out);
      BOOST_REQUIRE(*fifo.pop() == out++);
    }
    BOOST_REQUIRE(fifo.size() == in - out);
  }
  BOOST_TEST(out > 100000u);
}

BOOST_AUTO_TEST_CASE(an_item_ends_when_it_is_taken) {
  Fifo<std::shared_ptr<int>> fifo;
  const auto item = std::make_shared<int>(1);
  fifo.push(item);
  fifo.push(item);
  BOOST_TEST(item.use_count() == 3);
  (void)fifo.pop();
  BOOST_TEST(item.use_count() == 2);
  (void)fifo.pop();
  BOOST_TEST(item.use_count() == 1);
}

}  // namespace
}  // namespace troupe
