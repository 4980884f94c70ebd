// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/exchange.hpp"

#include "tests/unit/gpu/easyscale/job/floats.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <random>

namespace troupe::easyscale {
namespace {

using test::awkward_floats;
using test::same_bits;

constexpr std::size_t length = 53;
constexpr std::size_t buffer_bytes = 12;

View view_of(Rank ranks, std::vector<Member> members, std::uint64_t generation = 1) {
  View view;
  view.generation = generation;
  view.ranges = assign_ranks(ranks, static_cast<std::uint32_t>(members.size()));
  view.donor = members.front();
  view.members = std::move(members);
  return view;
}

Slice buffers_of(std::uint64_t step) {
  return Slice::own(std::vector<std::byte>(buffer_bytes, static_cast<std::byte>(step + 1)));
}

std::vector<float> leaf(std::uint64_t step, Rank rank) {
  return awkward_floats(1000 * step + rank, length);
}

std::vector<float> expected(std::uint64_t step, Rank ranks) {
  TreeFold fold(ranks, length);
  for (Rank rank = 0; rank < ranks; ++rank) {
    BOOST_REQUIRE(fold.add({0, rank}, leaf(step, rank)));
  }
  std::vector<float> root = fold.take().front().values;
  for (float& value : root) value /= static_cast<float>(ranks);
  return root;
}

// A view's exchanges, and the pieces on their way between each pair of members, in order.
class Group {
 public:
  Group(Rank ranks, const View& view, unsigned seed, Reducer reducer = Reducer::tree)
      : view_(view), random_(seed) {
    for (const Member member : view.members) {
      exchanges_.emplace(member,
                         StepExchange({ranks, 32, length, buffer_bytes, 1, reducer}, member));
    }
  }

  StepExchange& at(Member member) { return exchanges_.at(member); }

  void begin(Member member, std::uint64_t step) { carry(member, at(member).begin(view_, step)); }

  void contribute(Member member, std::uint64_t step) {
    const RankRange own = view_.ranges[*view_.slot_of(member)];
    for (Rank rank = own.first; rank < own.end(); ++rank) {
      BOOST_REQUIRE(at(member).add_rank(rank, leaf(step, rank)));
    }
    std::optional<Slice> buffers;
    if (own.first == 0 && own.count > 0) buffers = buffers_of(step);
    std::vector<std::byte> contexts;
    for (Rank rank = own.first; rank < own.end(); ++rank) {
      contexts.push_back(std::byte(10 * step + rank));
    }
    carry(member, at(member).contribute(std::move(buffers), std::move(contexts)));
  }

  bool deliver_one() {
    std::vector<std::pair<Member, Member>> pairs;
    for (const auto& [pair, queue] : wires_) {
      if (!queue.empty()) pairs.push_back(pair);
    }
    if (pairs.empty()) return false;
    const auto pair = pairs[random_() % pairs.size()];
    auto& queue = wires_[pair];
    Piece piece = std::move(queue.front());
    queue.erase(queue.begin());
    carry(pair.second, at(pair.second).receive(std::move(piece)));
    return true;
  }

  void carry(Member from, Outcome outcome) {
    for (const Error& error : outcome.rejected) BOOST_ERROR(error.what);
    for (Send& send : outcome.send) wires_[{from, send.to}].push_back(std::move(send.piece));
  }

  std::mt19937& random() { return random_; }

 private:
  View view_;
  std::mt19937 random_;
  std::map<Member, StepExchange> exchanges_;
  std::map<std::pair<Member, Member>, std::vector<Piece>> wires_;
};

BOOST_AUTO_TEST_CASE(all_members_get_the_bits_of_the_tree_whatever_their_number_and_order) {
  for (const Rank ranks : {1U, 3U, 8U}) {
    for (const std::vector<Member>& members :
         {std::vector<Member>{0}, {0, 1}, {0, 1, 2}, {1, 4, 5, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
      const View view = view_of(ranks, members);
      for (unsigned seed = 0; seed < 10; ++seed) {
        Group group(ranks, view, seed);
        for (std::uint64_t step = 0; step < 2; ++step) {
          auto order = members;
          std::shuffle(order.begin(), order.end(), group.random());
          for (const Member member : order) {
            group.begin(member, step);
            group.deliver_one();
            group.contribute(member, step);
            group.deliver_one();
          }
          while (group.deliver_one()) {
          }
          for (const Member member : members) {
            BOOST_REQUIRE(group.at(member).done());
            BOOST_TEST(same_bits(group.at(member).gradient(), expected(step, ranks)));
            BOOST_TEST((group.at(member).buffers().data()[0] == std::byte(step + 1)));
            const auto contexts = group.at(member).take_contexts();
            BOOST_REQUIRE(contexts.size() == ranks);
            for (Rank rank = 0; rank < ranks; ++rank) {
              BOOST_TEST((contexts[rank] == std::byte(10 * step + rank)));
            }
          }
        }
      }
    }
  }
}

// What all members have after a step of a view, for one seed of the order of messages.
std::vector<float> reduced(Reducer reducer, Rank ranks, const std::vector<Member>& members,
                           unsigned seed) {
  const View view = view_of(ranks, members);
  Group group(ranks, view, seed, reducer);
  for (const Member member : members) group.begin(member, 0);
  auto order = members;
  std::shuffle(order.begin(), order.end(), group.random());
  for (const Member member : order) {
    group.contribute(member, 0);
    group.deliver_one();
  }
  while (group.deliver_one()) {
  }
  for (const Member member : members) {
    BOOST_REQUIRE(group.at(member).done());
    BOOST_TEST(same_bits(group.at(member).gradient(), group.at(members[0]).gradient()));
  }
  return group.at(members[0]).gradient();
}

BOOST_AUTO_TEST_CASE(integers_give_the_same_bits_whatever_the_members_and_the_order) {
  for (const Rank ranks : {1U, 3U, 8U}) {
    const auto alone = reduced(Reducer::int64, ranks, {0}, 1);
    for (const std::vector<Member>& members :
         {std::vector<Member>{0, 1}, {0, 1, 2}, {1, 4, 5, 7}, {0, 1, 2, 3, 4, 5, 6, 7}}) {
      for (unsigned seed = 0; seed < 10; ++seed) {
        BOOST_TEST(same_bits(reduced(Reducer::int64, ranks, members, seed), alone));
      }
    }
    const auto tree = expected(0, ranks);
    for (std::size_t i = 0; i < length; ++i) {  // and they are the sum, up to its rounding
      BOOST_TEST(std::abs(alone[i] - tree[i]) < 0.05F);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_chain_gives_the_same_bits_for_the_same_members_only) {
  const auto once = reduced(Reducer::chain, 8, {0, 1, 2}, 1);
  for (unsigned seed = 2; seed < 12; ++seed) {
    BOOST_TEST(same_bits(reduced(Reducer::chain, 8, {0, 1, 2}, seed), once));
  }
  BOOST_TEST(!same_bits(reduced(Reducer::chain, 8, {0, 1}, 1), once));
}

BOOST_AUTO_TEST_CASE(a_faster_peer_may_be_one_step_ahead) {
  const View view = view_of(4, {0, 1});
  Group group(4, view, 1);
  group.begin(0, 0);
  group.begin(1, 0);
  group.contribute(0, 0);
  group.contribute(1, 0);
  while (group.deliver_one()) {
  }
  group.begin(1, 1);  // member 0 has not heard of the commit yet
  group.contribute(1, 1);
  while (group.deliver_one()) {
  }
  BOOST_TEST(same_bits(group.at(0).gradient(), expected(0, 4)));
  group.begin(0, 1);
  group.contribute(0, 1);
  while (group.deliver_one()) {
  }
  BOOST_TEST(group.at(0).done());
  BOOST_TEST(same_bits(group.at(0).gradient(), expected(1, 4)));
}

Piece partial_from(Member from, NodeKey node, std::size_t floats, std::uint64_t generation = 1,
                   std::uint64_t step = 0) {
  return {PieceKind::partial,
          generation,
          step,
          from,
          node,
          Slice::own(std::vector<float>(floats, 1.0F))};
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_rejected_and_changes_nothing) {
  const View view = view_of(4, {0, 1});  // ranks 0, 1 and 2, 3; shards of 26 and 27 elements
  StepExchange exchange({4, 2, length, buffer_bytes, 3}, 0);
  static_cast<void>(exchange.begin(view, 0));
  const auto rejected = [&](Piece piece) {
    return exchange.receive(std::move(piece)).rejected.size();
  };
  BOOST_TEST(rejected(partial_from(2, {1, 1}, 26)) == 1U);  // a stranger
  BOOST_TEST(rejected(partial_from(0, {1, 0}, 26)) == 1U);  // itself
  BOOST_TEST(rejected(partial_from(1, {1, 0}, 26)) == 1U);  // another member's ranks
  BOOST_TEST(rejected(partial_from(1, {2, 0}, 26)) == 1U);  // more than its ranks
  BOOST_TEST(rejected(partial_from(1, {9, 7}, 26)) == 1U);  // no such node
  BOOST_TEST(rejected(partial_from(1, {1, 1}, 25)) == 1U);  // wrong length
  BOOST_TEST(rejected(partial_from(1, {1, 1}, 26)) == 0U);
  BOOST_TEST(rejected(partial_from(1, {1, 1}, 26)) == 1U);  // a duplicate
  BOOST_TEST(rejected(partial_from(1, {0, 2}, 26)) == 1U);  // part of it again
  Piece shard = partial_from(1, {}, 26);
  shard.kind = PieceKind::shard;
  BOOST_TEST(rejected(shard) == 1U);  // wrong length
  shard.bytes = Slice::own(std::vector<float>(27, 2.0F));
  BOOST_TEST(rejected(shard) == 0U);
  BOOST_TEST(rejected(shard) == 1U);  // a duplicate
  Piece buffers = shard;
  buffers.kind = PieceKind::buffers;
  buffers.bytes = buffers_of(0);
  BOOST_TEST(rejected(buffers) == 1U);  // not from rank 0's host
  Piece contexts = shard;
  contexts.kind = PieceKind::contexts;
  contexts.bytes = Slice::own(std::vector<std::byte>(5));
  BOOST_TEST(rejected(contexts) == 1U);  // its two ranks keep six bytes
  contexts.bytes = Slice::own(std::vector<std::byte>(6));
  BOOST_TEST(rejected(contexts) == 0U);
  BOOST_TEST(rejected(contexts) == 1U);  // a duplicate
  Piece odd = shard;
  odd.kind = static_cast<PieceKind>(9);
  BOOST_TEST(rejected(odd) == 1U);
  BOOST_TEST(!exchange.done());
}

BOOST_AUTO_TEST_CASE(stale_pieces_are_dropped_and_early_ones_are_bounded) {
  const View view = view_of(4, {0, 1}, 5);
  StepExchange exchange({4, 2, length, buffer_bytes}, 0);
  static_cast<void>(exchange.begin(view, 7));
  const auto stale = exchange.receive(partial_from(1, {1, 1}, 26, 4, 7));
  BOOST_TEST(stale.rejected.empty());
  BOOST_TEST(exchange.receive(partial_from(1, {1, 1}, 26, 5, 6)).rejected.empty());
  std::size_t refused = 0;
  for (int i = 0; i < 100; ++i) {
    refused += exchange.receive(partial_from(1, {1, 1}, 26, 6, 7)).rejected.size();
  }
  BOOST_TEST(refused == 78U);  // two steps' worth are kept
  BOOST_TEST(exchange.receive(partial_from(1, {1, 1}, 26, 9, 7)).rejected.empty());  // newer
  BOOST_TEST(exchange.receive(partial_from(1, {1, 1}, 2 * length + 1, 9, 7)).rejected.size() ==
             1U);  // longer than any
}

BOOST_AUTO_TEST_CASE(a_misaligned_payload_is_read_all_the_same) {
  const View view = view_of(2, {0, 1});
  StepExchange exchange({2, 2, length, buffer_bytes}, 0);
  static_cast<void>(exchange.begin(view, 0));
  const auto values = leaf(0, 1);
  auto raw = std::make_shared<std::vector<std::byte>>(length * sizeof(float) + 1);
  std::memcpy(raw->data() + 1, values.data(), 26 * sizeof(float));
  Piece piece = partial_from(1, {0, 1}, 26);
  piece.bytes = Slice(raw, std::span(*raw).subspan(1, 26 * sizeof(float)));
  BOOST_TEST(exchange.receive(piece).rejected.empty());
  BOOST_REQUIRE(exchange.add_rank(0, leaf(0, 0)));
  static_cast<void>(exchange.contribute(buffers_of(0), {}));
  const auto want = expected(0, 2);
  BOOST_TEST(std::equal(want.begin(), want.begin() + 26, exchange.gradient().begin()));
}

}  // namespace
}  // namespace troupe::easyscale
