// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/tensor_link.hpp"

#include "actors/net/bulk/bulk.hpp"
#include "gpu/easyscale/wire_link.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>

namespace troupe::easyscale {
namespace {

/// A sender and a receiver with bulk data of their own, as two processes have.
struct Pair {
  std::unique_ptr<Bulk> from = Bulk::make().value();
  std::unique_ptr<Bulk> to = Bulk::make().value();
  TensorLink sender{*from};
  TensorLink receiver{*to};

  Result<Slice> receive(const Piece& piece, const std::optional<BulkRef>& bulk) {
    const auto message = to_message(piece, bulk);
    if (bulk) BOOST_TEST(message.blob().empty());
    return receiver.take(message.blob(), message.read()->getBulk());
  }
};

Piece piece_of(std::size_t bytes, std::uint64_t generation = 1, std::uint64_t step = 1) {
  return {PieceKind::shard,
          generation,
          step,
          0,
          {},
          Slice::own(std::vector<std::uint8_t>(bytes, static_cast<std::uint8_t>(bytes)))};
}

bool same_bytes(const Slice& a, const Slice& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

BOOST_AUTO_TEST_CASE(small_pieces_travel_in_the_message_and_large_ones_are_pulled) {
  Pair pair;
  for (const std::size_t bytes : {0U, 1U, 32767U, 32768U, 5000000U}) {
    const auto piece = piece_of(bytes);
    const auto bulk = pair.sender.offer(1, 1, piece.bytes);
    BOOST_TEST(bulk.has_value() == (bytes >= TensorLink::large));
    const auto got = pair.receive(piece, bulk);
    BOOST_REQUIRE(got);
    BOOST_TEST(same_bytes(*got, piece.bytes));
  }
  BOOST_TEST(pair.to->reader().counters().of(BulkPath::cma).transfers == 2u);
}

BOOST_AUTO_TEST_CASE(what_several_get_is_exposed_once) {
  Pair pair;
  const auto piece = piece_of(100000);
  const auto first = pair.sender.offer(1, 1, piece.bytes);
  BOOST_CHECK(first == pair.sender.offer(1, 1, piece.bytes));
  BOOST_CHECK(first != pair.sender.offer(1, 2, piece.bytes));
  BOOST_TEST(pair.from->store().size() == 2u);
}

BOOST_AUTO_TEST_CASE(pieces_are_offered_until_their_step_is_committed) {
  Pair pair;
  const auto old = piece_of(100000, 1, 4);
  const auto now = piece_of(100000, 1, 5);
  const auto next = piece_of(100000, 1, 6);
  const auto of_old = pair.sender.offer(1, 4, old.bytes);
  const auto of_now = pair.sender.offer(1, 5, now.bytes);
  const auto of_next = pair.sender.offer(1, 6, next.bytes);
  pair.sender.end_step(1, 5);
  for (const auto& [piece, bulk] : {std::pair{old, of_old}, {now, of_now}}) {
    const auto got = pair.receive(piece, bulk);
    BOOST_REQUIRE(!got);
    BOOST_TEST(TensorLink::is_over(got.error()));
  }
  BOOST_TEST(pair.receive(next, of_next).has_value());
}

BOOST_AUTO_TEST_CASE(a_new_view_ends_the_offers_of_older_ones) {
  Pair pair;
  const auto old = piece_of(100000, 1, 5);
  const auto now = piece_of(100000, 2, 5);
  const auto of_old = pair.sender.offer(1, 5, old.bytes);
  const auto of_now = pair.sender.offer(2, 5, now.bytes);
  pair.sender.end_views_before(2);
  BOOST_TEST(!pair.receive(old, of_old));
  BOOST_TEST(pair.receive(now, of_now).has_value());
  pair.sender.end_step(1, 9);  // of a view that is over
  BOOST_TEST(pair.receive(now, of_now).has_value());
}

BOOST_AUTO_TEST_CASE(a_trainer_that_ends_leaves_no_offers) {
  const auto bulk = Bulk::make().value();
  {
    TensorLink sender(*bulk);
    (void)sender.offer(1, 1, piece_of(100000).bytes);
    BOOST_TEST(bulk->store().size() == 1u);
  }
  BOOST_TEST(bulk->store().size() == 0u);
}

BOOST_AUTO_TEST_CASE(only_another_process_of_this_host_is_near) {
  const PeerInfo self{{"a", 1}, {"127.0.0.1", 5}, "1", 1};
  BOOST_TEST(is_another_process_here(self, {{"b", 2}, {"127.0.0.1", 6}, 3}));
  BOOST_TEST(!is_another_process_here(self, {{"a", 1}, {"127.0.0.1", 5}, 3}));
  BOOST_TEST(!is_another_process_here(self, {{"b", 2}, {"10.0.0.1", 6}, 3}));
  BOOST_TEST(!is_another_process_here({{"a", 1}, {}, "1", 1}, {{"b", 2}, {}, 3}));
}

}  // namespace
}  // namespace troupe::easyscale
