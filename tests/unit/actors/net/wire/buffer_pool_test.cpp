// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/buffer_pool.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

BOOST_AUTO_TEST_CASE(a_large_buffer_is_given_out_again) {
  BufferPool pool(4 * mib);
  const auto* first = pool.get(mib).memory.get();
  auto again = pool.get(mib - 100);
  BOOST_TEST(again.memory.get() == first);
  BOOST_TEST(again.size == mib - 100);
  BOOST_TEST(pool.get(mib).memory.get() != first);
}

BOOST_AUTO_TEST_CASE(what_is_used_now_is_kept_and_what_lies_there_longest_makes_room) {
  BufferPool pool(4 * mib);
  {
    std::vector<Buffer> small;
    for (int i = 0; i < 8; ++i) small.push_back(pool.get(mib / 2));
  }
  const auto* large = pool.get(4 * mib).memory.get();  // as large as all that is kept
  const std::vector<std::byte> in_between(4 * mib);    // takes the place of what is not kept
  BOOST_TEST(pool.get(4 * mib).memory.get() == large);
  const auto* small = pool.get(mib / 2).memory.get();
  BOOST_TEST(pool.get(mib / 2).memory.get() == small);
}

BOOST_AUTO_TEST_CASE(buffers_keep_their_bytes_to_themselves_and_may_outlive_the_pool) {
  std::optional<BufferPool> pool(4 * mib);
  std::mt19937 random(1);
  std::vector<std::pair<Buffer, int>> held;
  for (int i = 0; i < 2000; ++i) {
    auto buffer = pool->get(1 + random() % (random() % 8 == 0 ? 3 * mib : 200000));
    BOOST_REQUIRE(buffer.memory != nullptr);
    BOOST_REQUIRE(reinterpret_cast<std::uintptr_t>(buffer.memory.get()) % 64 == 0);
    std::memset(buffer.memory.get(), i % 256, buffer.size);
    held.emplace_back(std::move(buffer), i % 256);
    if (held.size() < 20) continue;
    const auto at = random() % held.size();
    const auto bytes = held[at].first.bytes();
    const auto value = static_cast<std::byte>(held[at].second);
    BOOST_REQUIRE((bytes.front() == value && bytes[bytes.size() / 2] == value));
    BOOST_REQUIRE((bytes.back() == value));
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
  }
  pool.reset();
}

}  // namespace
}  // namespace troupe
