// SPDX-License-Identifier: Apache-2.0
//
// A member of the cluster that misbehaves takes bounded memory, and is lost for it; other members
// do not notice.
#include "tests/support/rogue_peer.hpp"

#include "actors/net/peer_table.hpp"
#include "actors/net/ucx_transport.hpp"
#include "tests/support/recording_handler.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using Limits = PeerTable::Limits;
using test::eventually;
using test::RoguePeer;
constexpr std::uint64_t response = std::uint64_t{1} << 63;
const bool environment_is_set = (UcxWorker::set_environment(true), true);

/// A node, an honest peer of it, and the rogue.
struct Cluster {
  Cluster() {
    info = node->start(at_node).value();
    BOOST_REQUIRE(honest->start(at_honest));
    honest->connect(info.control, info.id);
    rogue = std::make_unique<RoguePeer>(secret, info.control);
    rogue->send_hello();
    BOOST_REQUIRE(eventually([&] {
      rogue->progress();
      return at_node.log().up.size() == 2 && at_honest.log().up.size() == 1;
    }));
  }
  std::unique_ptr<Transport> make(const std::string& name) const {
    return make_ucx_transport({{name, random_number()}, "1", 1, {"127.0.0.1", 0}, secret});
  }
  /// Waits for the end of the rogue, and shows that nothing else has ended.
  void check_the_rogue_is_lost(const std::string& why) {
    BOOST_REQUIRE(eventually([&] {
      rogue->progress();
      return !at_node.log().down.empty();
    }));
    const auto [who, error] = at_node.log().down.front();
    BOOST_TEST(to_string(who) == to_string(rogue->id));
    BOOST_TEST(error.what.find(why) != std::string::npos, error.what);
    const auto before = at_node.log().frames.size();
    BOOST_TEST(honest->send(info.id, {}));
    BOOST_REQUIRE(eventually([&] { return at_node.log().frames.size() == before + 1; }));
    BOOST_TEST(at_node.log().down.size() == 1u);
  }

  ClusterSecret secret = ClusterSecret::random();
  test::RecordingHandler at_node;
  test::RecordingHandler at_honest;
  std::unique_ptr<Transport> node = make("node");
  std::unique_ptr<Transport> honest = make("honest");
  PeerInfo info;
  std::unique_ptr<RoguePeer> rogue;
};

/// A reply: it needs no credit.
Frame reply(std::size_t blob) {
  Frame frame;
  frame.header.message_id = response | 1;
  if (blob > 0) frame.blob = Slice::own(std::vector<std::byte>(blob));
  return frame;
}

BOOST_AUTO_TEST_CASE(a_peer_has_so_many_control_connections_and_is_told_when_it_wants_more) {
  Cluster cluster;
  auto& rogue = *cluster.rogue;
  for (std::size_t i = 1; i < Limits::connections; ++i) BOOST_REQUIRE(rogue.call());
  for (int i = 0; i < 3; ++i) {
    const auto why = rogue.call_and_listen();
    BOOST_TEST(why.find("has 4 control connections") != std::string::npos, why);
  }
  // It may have others in their place, and is up all the time.
  rogue.hang_up(1);
  BOOST_REQUIRE(eventually([&] { return rogue.call().has_value(); }));
  rogue.send(1, {reply(8)});
  BOOST_REQUIRE(eventually([&] {
    rogue.progress();
    return cluster.at_node.log().frames.size() == 1;
  }));
  BOOST_TEST(cluster.at_node.log().down.empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_changes_its_session_is_lost) {
  Cluster cluster;
  BOOST_REQUIRE(cluster.rogue->call());
  cluster.rogue->send(1, {reply(8)}, 1);
  cluster.check_the_rogue_is_lost("from one session to another");
}

BOOST_AUTO_TEST_CASE(what_waits_for_a_missing_message_is_bounded_in_bytes) {
  Cluster cluster;
  const auto frame = reply(std::size_t{4} << 20);
  for (std::uint64_t i = 0; i <= Limits::waiting / frame.blob.size(); ++i) {
    cluster.rogue->send(2 + i, {frame});  // 1 never comes
    BOOST_REQUIRE(eventually([&] {
      cluster.rogue->progress();
      return cluster.rogue->in_flight() == 0;
    }));
  }
  cluster.check_the_rogue_is_lost("behind a message that is missing");
  BOOST_TEST(cluster.at_node.log().frames.size() == 1u);  // of the honest peer
}

BOOST_AUTO_TEST_CASE(a_message_from_too_far_ahead_loses_its_peer) {
  Cluster cluster;
  cluster.rogue->send(1 + Reorder<int>::window, {reply(8)});
  cluster.check_the_rogue_is_lost("far ahead");
}

BOOST_AUTO_TEST_CASE(payloads_that_are_fetched_at_once_are_bounded) {
  Cluster cluster;
  const auto frame = reply(Limits::in_flight - (std::size_t{1} << 20));
  // All are offered before the first is sent: the node is asked for memory for each.
  for (std::uint64_t i = 0; i < 16; ++i) cluster.rogue->send(1 + i, {frame});
  cluster.check_the_rogue_is_lost("larger messages than it may at once");
}

BOOST_AUTO_TEST_CASE(one_message_of_any_size_may_go_alone_and_order_is_kept_beside_it) {
  Cluster cluster;
  cluster.rogue.reset();
  const auto large = reply(2 * Limits::fetched);
  for (int i = 0; i < 3; ++i) {
    BOOST_REQUIRE(cluster.honest->send(cluster.info.id, large));
    for (std::uint64_t j = 0; j < 1000; ++j) {
      BOOST_REQUIRE(cluster.honest->send(cluster.info.id, reply(64)));
    }
  }
  BOOST_REQUIRE(eventually([&] { return cluster.at_node.log().frames.size() == 3003; }));
  const auto frames = cluster.at_node.log().frames;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const auto size = i % 1001 == 0 ? large.blob.size() : 64;
    BOOST_REQUIRE_EQUAL(frames[i].second.blob.size(), size);
  }
  BOOST_TEST(cluster.at_honest.log().down.empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_does_not_read_its_answers_is_lost) {
  Cluster cluster;
  const auto answer = reply(Limits::in_flight);  // the same bytes again and again
  for (std::size_t i = 0; i <= Limits::unread_bytes / answer.blob.size() + 2; ++i) {
    BOOST_REQUIRE(cluster.node->send(cluster.rogue->id, answer));
  }
  // It lets UCX do nothing.
  BOOST_REQUIRE(eventually([&] { return !cluster.at_node.log().down.empty(); }));
  cluster.check_the_rogue_is_lost("does not read");
}

}  // namespace
}  // namespace troupe
