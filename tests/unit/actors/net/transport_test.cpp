// SPDX-License-Identifier: Apache-2.0
//
// The same contract for both transports, and what only real sockets can do.
#include "actors/net/control_connection.hpp"
#include "actors/net/loopback_transport.hpp"
#include "actors/net/ucx_transport.hpp"
#include "actors/net/ucx_worker.hpp"
#include "actors/net/wire/backlog.hpp"
#include "tests/support/recording_handler.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <unistd.h>

#include <random>

namespace troupe {
namespace {

using test::eventually;
using test::RecordingHandler;

const bool environment_is_set = (UcxWorker::set_environment(true), true);

/// Nodes a, b, ... on one kind of network.
struct Network {
  explicit Network(const std::string& kind) : kind_(kind) {}

  std::unique_ptr<Transport> make(const std::string& name) {
    const NodeId id{name, random_number()};
    if (kind_ == "loopback") return hub_.make({id, {}, "1", 1});
    return make_ucx_transport({id, "1", 1, {"127.0.0.1", 0}, secret_});
  }

 private:
  std::string kind_;
  LoopbackHub hub_;
  ClusterSecret secret_ = ClusterSecret::random();
};

struct Pair {
  explicit Pair(const std::string& kind)
      : network(kind), a(network.make("a")), b(network.make("b")) {
    a_info = a->start(at_a).value();
    b_info = b->start(at_b).value();
  }
  void meet() {
    a->connect(b_info.control, b_info.id);
    BOOST_REQUIRE(eventually([&] { return !at_a.log().up.empty() && !at_b.log().up.empty(); }));
  }

  Network network;
  RecordingHandler at_a;
  RecordingHandler at_b;
  std::unique_ptr<Transport> a;
  std::unique_ptr<Transport> b;
  PeerInfo a_info;
  PeerInfo b_info;
};

Frame frame_of(std::uint64_t number, std::size_t body, std::size_t blob) {
  Frame frame;
  frame.header.message_id = number;
  if (body > 0) frame.body = Slice::own(std::vector<std::uint64_t>(body / 8, number));
  if (blob > 0)
    frame.blob = Slice::own(std::vector<std::uint8_t>(blob, static_cast<std::uint8_t>(number)));
  return frame;
}

bool is_filled(const Slice& slice, std::uint64_t number, bool words) {
  const auto bytes = slice.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto expected = words ? (number >> (8 * (i % 8))) & 0xff : number & 0xff;
    if (std::to_integer<std::uint64_t>(bytes[i]) != expected) return false;
  }
  return true;
}

const auto kinds = boost::unit_test::data::make(std::vector<std::string>{"loopback", "ucx"});

BOOST_DATA_TEST_CASE(both_sides_hear_of_each_other, kinds, kind) {
  Pair pair(kind);
  pair.meet();
  const auto seen = pair.at_b.log().up.front();
  BOOST_TEST(to_string(seen.id) == to_string(pair.a_info.id));
  BOOST_TEST(to_string(seen.control) == to_string(pair.a_info.control));
  BOOST_TEST(seen.node_actor == 1u);
}

BOOST_DATA_TEST_CASE(who_is_dropped_is_told_why_and_never_comes_back, kinds, kind) {
  Pair pair(kind);
  pair.meet();
  pair.a->drop(pair.b_info.id, {ErrorCode::aborted, "silent for 4 s"});
  BOOST_REQUIRE(
      eventually([&] { return !pair.at_a.log().down.empty() && !pair.at_b.log().down.empty(); }));
  for (const auto* side : {&pair.at_a, &pair.at_b}) {
    const auto [peer, why] = side->log().down.front();
    BOOST_TEST((why.code == ErrorCode::aborted));
    BOOST_TEST(why.what == "silent for 4 s");
  }
  pair.a->connect(pair.b_info.control, std::nullopt);
  pair.b->connect(pair.a_info.control, std::nullopt);
  BOOST_REQUIRE(eventually(
      [&] { return !pair.at_a.log().failed.empty() && !pair.at_b.log().failed.empty(); }));
  for (const auto* side : {&pair.at_a, &pair.at_b}) {
    BOOST_TEST((side->log().failed.front().second.code == ErrorCode::aborted));
    BOOST_TEST(side->log().up.size() == 1u);
  }
}

BOOST_DATA_TEST_CASE(who_is_dropped_before_it_came_cannot_come, kinds, kind) {
  Pair pair(kind);
  pair.a->drop(pair.b_info.id, {ErrorCode::aborted, "known to be dead"});
  pair.b->connect(pair.a_info.control, std::nullopt);
  BOOST_REQUIRE(eventually([&] { return !pair.at_b.log().failed.empty(); }));
  BOOST_TEST((pair.at_b.log().failed.front().second.code == ErrorCode::aborted));
  BOOST_TEST(pair.at_a.log().up.empty());
}

BOOST_DATA_TEST_CASE(a_peer_that_is_up_gives_signs_of_life, kinds, kind) {
  Pair pair(kind);
  pair.meet();
  BOOST_REQUIRE(eventually([&] { return pair.at_a.log().signs >= 2; }));
}

BOOST_DATA_TEST_CASE(an_orderly_end_is_told_from_a_lost_connection, kinds, kind) {
  Pair pair(kind);
  pair.meet();
  pair.a->stop();
  BOOST_REQUIRE(eventually([&] { return !pair.at_b.log().down.empty(); }));
  BOOST_TEST((pair.at_b.log().down.front().second.code == ErrorCode::not_found));
}

BOOST_DATA_TEST_CASE(frames_of_every_size_arrive_whole_and_in_order, kinds, kind) {
  Pair pair(kind);
  pair.meet();
  // Eager and rendezvous, body in the header and in the payload, with and without blob.
  const std::size_t bodies[] = {0, 8, 7000, 9000, 200000};
  const std::size_t blobs[] = {0, 1, 1000, 70000, 300000, 3000000};
  std::mt19937 random(7);
  std::vector<std::pair<std::size_t, std::size_t>> sizes;
  for (int i = 0; i < 400; ++i) {
    const auto blob = blobs[random() % (i % 20 == 0 ? 6 : 5)];
    sizes.emplace_back(bodies[random() % 5], blob);
    (void)pair.a->send(pair.b_info.id,
                       frame_of(static_cast<std::uint64_t>(i), sizes.back().first, blob));
  }
  BOOST_REQUIRE(eventually([&] { return pair.at_b.log().frames.size() == sizes.size(); }));
  const auto frames = pair.at_b.log().frames;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& [from, frame] = frames[i];
    BOOST_REQUIRE(from == pair.a_info.id);
    BOOST_REQUIRE_EQUAL(frame.header.message_id, i);
    BOOST_REQUIRE_EQUAL(frame.body.size(), sizes[i].first);
    BOOST_REQUIRE_EQUAL(frame.blob.size(), sizes[i].second);
    BOOST_REQUIRE(is_filled(frame.body, i, true));
    BOOST_REQUIRE(is_filled(frame.blob, i, false));
  }
}

BOOST_DATA_TEST_CASE(a_node_that_stops_is_down_after_its_last_frame, kinds, kind) {
  Pair pair(kind);
  pair.meet();
  for (int i = 0; i < 100; ++i) (void)pair.a->send(pair.b_info.id, frame_of(1, 8, 1000));
  pair.a->stop();
  BOOST_REQUIRE(eventually([&] { return !pair.at_b.log().down.empty(); }));
  BOOST_TEST(pair.at_b.log().frames.size() == 100u);
  BOOST_TEST(pair.at_b.log().down.size() == 1u);
}

BOOST_DATA_TEST_CASE(a_place_where_nobody_listens_is_reported, kinds, kind) {
  Pair pair(kind);
  const auto nowhere = pair.b_info.control;
  pair.b->stop();
  pair.a->connect(nowhere, {});
  BOOST_REQUIRE(eventually([&] { return !pair.at_a.log().failed.empty(); }));
  const auto [to, why] = pair.at_a.log().failed.front();
  BOOST_CHECK(to == nowhere);
  BOOST_TEST(why.what.find("nothing listens there") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(two_nodes_that_call_each_other_at_once_meet_once) {
  for (int round = 0; round < 20; ++round) {
    Pair pair("ucx");
    pair.a->connect(pair.b_info.control, pair.b_info.id);
    pair.b->connect(pair.a_info.control, pair.a_info.id);
    BOOST_REQUIRE(
        eventually([&] { return !pair.at_a.log().up.empty() && !pair.at_b.log().up.empty(); }));
    (void)pair.a->send(pair.b_info.id, frame_of(1, 8, 0));
    (void)pair.b->send(pair.a_info.id, frame_of(1, 8, 0));
    BOOST_REQUIRE(eventually(
        [&] { return pair.at_a.log().frames.size() == 1 && pair.at_b.log().frames.size() == 1; }));
    BOOST_TEST(pair.at_a.log().up.size() == 1u);
    BOOST_TEST(pair.at_a.log().down.empty());
    BOOST_TEST(pair.at_b.log().down.empty());
  }
}

BOOST_AUTO_TEST_CASE(many_who_ask_for_one_node_at_once_are_answered_by_one_call) {
  Pair pair("ucx");
  for (int i = 0; i < 50; ++i) pair.a->connect(pair.b_info.control, pair.b_info.id);
  BOOST_REQUIRE(eventually([&] { return !pair.at_a.log().up.empty(); }));
  (void)pair.a->send(pair.b_info.id, frame_of(1, 8, 0));
  BOOST_REQUIRE(eventually([&] { return pair.at_b.log().frames.size() == 1; }));
  BOOST_TEST(pair.at_a.log().failed.empty());
}

BOOST_AUTO_TEST_CASE(encrypted_nodes_understand_each_other) {
  const auto secret = ClusterSecret::random();
  RecordingHandler at_a;
  RecordingHandler at_b;
  const auto a = make_ucx_transport({{"a", 1}, "1", 1, {"127.0.0.1", 0}, secret, true, {}});
  const auto b = make_ucx_transport({{"b", 2}, "1", 1, {"127.0.0.1", 0}, secret, true, {}});
  BOOST_REQUIRE(a->start(at_a));
  const auto b_info = b->start(at_b).value();
  a->connect(b_info.control, {});
  BOOST_REQUIRE(eventually([&] { return !at_a.log().up.empty(); }));
  for (const std::size_t blob : {0, 1000, 300000, 3000000}) {
    (void)a->send(b_info.id, frame_of(3, 9000, blob));
  }
  BOOST_REQUIRE(eventually([&] { return at_b.log().frames.size() == 4; }));
  for (const auto& [from, frame] : at_b.log().frames) {
    BOOST_TEST(is_filled(frame.body, 3, true));
    BOOST_TEST(is_filled(frame.blob, 3, false));
  }
}

/// Lets nothing go: a reader that has stopped.
class HoldingHandler : public RecordingHandler {
 public:
  void on_frame(const NodeId&, Frame frame) override {
    const std::lock_guard lock(mutex);
    held.push_back(std::move(frame));
  }
  std::size_t count() {
    const std::lock_guard lock(mutex);
    return held.size();
  }
  std::mutex mutex;
  std::vector<Frame> held;
};

BOOST_AUTO_TEST_CASE(a_flooded_node_holds_no_more_than_its_credit_and_the_sender_is_told) {
  const CreditWindow window{.messages = 100, .bytes = std::uint64_t{1} << 20};
  const auto secret = ClusterSecret::random();
  RecordingHandler at_a;
  HoldingHandler at_b;
  const auto a = make_ucx_transport({{"a", 1}, "1", 1, {"127.0.0.1", 0}, secret, false, window});
  const auto b = make_ucx_transport({{"b", 2}, "1", 1, {"127.0.0.1", 0}, secret, false, window});
  BOOST_REQUIRE(a->start(at_a));
  const auto b_info = b->start(at_b).value();
  a->connect(b_info.control, {});
  BOOST_REQUIRE(eventually([&] { return !at_a.log().up.empty(); }));
  std::size_t taken = 0;
  for (std::uint64_t i = 0; i < 300000; ++i)
    taken += a->send(b_info.id, frame_of(i, 64, 0)) ? 1 : 0;
  BOOST_REQUIRE(eventually([&] { return at_b.count() == window.messages; }));
  BOOST_TEST(taken <= Backlog::max_frames + window.messages);
  // Replies and what keeps nodes informed go on, and so does everything when the reader does.
  Frame other = frame_of(7, 8, 0);
  other.header.kind = FrameKind::monitor;
  BOOST_TEST(a->send(b_info.id, other));
  BOOST_REQUIRE(eventually([&] { return at_b.count() == window.messages + 1; }));
  BOOST_REQUIRE(eventually([&] {
    const std::lock_guard lock(at_b.mutex);
    taken -= at_b.held.size();
    at_b.held.clear();
    return taken + 1 == 0;
  }));
  BOOST_TEST(at_b.log().down.empty());
}

BOOST_AUTO_TEST_CASE(a_wrong_secret_keeps_a_node_out) {
  RecordingHandler at_a;
  RecordingHandler at_b;
  const auto a = make_ucx_transport({{"a", 1}, "1", 1, {"127.0.0.1", 0}, ClusterSecret::random()});
  const auto b = make_ucx_transport({{"b", 2}, "1", 1, {"127.0.0.1", 0}, ClusterSecret::random()});
  BOOST_REQUIRE(a->start(at_a));
  const auto b_info = b->start(at_b).value();
  a->connect(b_info.control, {});
  BOOST_REQUIRE(eventually([&] { return !at_a.log().failed.empty(); }));
  BOOST_TEST(at_a.log().failed.front().second.what.find("wrong cluster secret") !=
             std::string::npos);
  BOOST_TEST(at_b.log().up.empty());
}

BOOST_AUTO_TEST_CASE(another_program_version_keeps_a_node_out) {
  const auto secret = ClusterSecret::random();
  RecordingHandler at_a;
  RecordingHandler at_b;
  const auto a = make_ucx_transport({{"a", 1}, "1", 1, {"127.0.0.1", 0}, secret});
  const auto b = make_ucx_transport({{"b", 2}, "2", 1, {"127.0.0.1", 0}, secret});
  BOOST_REQUIRE(a->start(at_a));
  const auto b_info = b->start(at_b).value();
  a->connect(b_info.control, {});
  BOOST_REQUIRE(eventually([&] { return !at_a.log().failed.empty(); }));
  BOOST_TEST(at_a.log().failed.front().second.what.find("install the same version") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(strangers_on_the_control_port_do_no_harm) {
  Pair pair("ucx");
  std::mt19937 random(3);
  std::vector<Fd> silent;
  for (int i = 0; i < 300; ++i) {
    auto fd = begin_connect(pair.b_info.control);
    BOOST_REQUIRE(fd);
    std::string junk(random() % 200, '\0');
    for (auto& byte : junk) byte = static_cast<char>(random());
    if (i % 3 == 0) junk.replace(0, 4, "TRPC");
    (void)::send(fd->get(), junk.data(), junk.size(), MSG_NOSIGNAL);
    if (i % 10 == 0) silent.push_back(std::move(*fd));
  }
  pair.meet();
  BOOST_TEST(pair.at_b.log().up.size() == 1u);
}

}  // namespace
}  // namespace troupe
