// SPDX-License-Identifier: Apache-2.0
//
// Frames from a peer that does not keep to the rules.
#include "actors/net/bulk/bulk_wire.hpp"
#include "tests/support/wait.hpp"
#include "tests/unit/actors/net/bulk/bulk_node.hpp"
#include "tests/unit/actors/net/bulk/pattern.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>

namespace troupe {
namespace {

using test::BulkNode;
using test::eventually;
using test::RecordingHandler;

/// A bulk node, and a peer of it whose frames the test writes itself.
struct Scene {
  LoopbackHub hub;
  std::unique_ptr<BulkNode> node = BulkNode::on_hub("node", hub);
  RecordingHandler heard;
  std::unique_ptr<Transport> stranger = hub.make({{"stranger", 9}, {}, "1", 1});
  std::shared_ptr<std::vector<std::byte>> memory = std::make_shared<std::vector<std::byte>>(100000);
  BulkRef ref;
  std::uint64_t asked = 0;
  PeerInfo stranger_info;

  Scene() {
    test::fill_pattern(*memory);
    ref = node->bulk->store().expose(Slice(memory, *memory)).value();
    stranger_info = stranger->start(heard).value();
    stranger->connect(node->self.control, {});
    BOOST_REQUIRE(eventually([&] { return !heard.log().up.empty(); }));
  }
  ~Scene() { stranger->stop(); }

  Frame ask(Slice body, Slice blob = {}) {
    Frame frame;
    frame.header.kind = FrameKind::bulk_request;
    frame.header.message_id = ++asked;
    frame.body = std::move(body);
    frame.blob = std::move(blob);
    stranger->send(node->self.id, std::move(frame));
    BOOST_REQUIRE(eventually([&] { return heard.log().frames.size() == asked; }));
    return heard.log().frames.back().second;
  }
  Result<void> answer_to(const BulkRef& to, bool write, std::vector<BulkRange> ranges,
                         Slice blob = {}) {
    const auto answer = ask(write_request(to, write, {std::move(ranges), 0, 0}), std::move(blob));
    BOOST_TEST(answer.header.message_id == asked);
    auto said = read_answer(answer.body.bytes());
    if (!said) BOOST_TEST(answer.blob.empty());
    return said;
  }
};

BOOST_AUTO_TEST_CASE(each_request_that_is_not_allowed_gets_an_error) {
  Scene scene;
  const auto code = [&](const BulkRef& ref, bool write, std::vector<BulkRange> ranges,
                        Slice blob = {}) {
    const auto said = scene.answer_to(ref, write, std::move(ranges), std::move(blob));
    BOOST_REQUIRE(!said);
    return said.error().code;
  };
  auto wrong = scene.ref;
  wrong.key += 2;
  BOOST_CHECK(code(wrong, false, {{0, 1}}) == ErrorCode::not_found);
  wrong.key = 0;
  BOOST_CHECK(code(wrong, false, {{0, 1}}) == ErrorCode::not_found);
  wrong = scene.ref;
  wrong.slot = 0xffffffff;
  BOOST_CHECK(code(wrong, false, {{0, 1}}) == ErrorCode::not_found);
  const std::uint64_t most = ~std::uint64_t{0};
  BOOST_CHECK(code(scene.ref, false, {{99999, 2}}) == ErrorCode::invalid_argument);
  BOOST_CHECK(code(scene.ref, false, {{most, 2}}) == ErrorCode::invalid_argument);
  BOOST_CHECK(code(scene.ref, false, {{0, most}}) == ErrorCode::invalid_argument);
  BOOST_CHECK(code(scene.ref, false, {{1, most}, {0, 2}}) == ErrorCode::invalid_argument);
  BOOST_CHECK(code(scene.ref, false, {{0, 1}, {most - 1, most}}) == ErrorCode::invalid_argument);
  BOOST_CHECK(code(scene.ref, false, std::vector<BulkRange>(1025, {0, 1})) ==
              ErrorCode::invalid_argument);
  BOOST_CHECK(code(scene.ref, false, std::vector<BulkRange>(1000, {0, 100000})) ==
              ErrorCode::invalid_argument);
  const auto bytes = Slice::own(std::vector<std::byte>(8));
  BOOST_CHECK(code(scene.ref, true, {{0, 8}}, bytes) == ErrorCode::permission_denied);
  BOOST_TEST(scene.answer_to(scene.ref, false, {{0, 100000}}).has_value());
  BOOST_TEST(((*scene.memory)[0] == test::pattern_at(0)));
}

BOOST_AUTO_TEST_CASE(a_write_of_other_bytes_than_it_says_changes_nothing) {
  Scene scene;
  const auto ref = scene.node->bulk->store().expose_writable({scene.memory, *scene.memory}).value();
  for (const std::size_t size : {0U, 7U, 9U}) {
    const auto said =
        scene.answer_to(ref, true, {{0, 8}}, Slice::own(std::vector<std::byte>(size)));
    BOOST_REQUIRE(!said);
    BOOST_CHECK(said.error().code == ErrorCode::invalid_argument);
  }
  const BulkRange all[] = {{0, 100000}};
  BOOST_TEST(test::is_pattern(*scene.memory, all));
}

BOOST_AUTO_TEST_CASE(junk_for_a_request_gets_an_error) {
  Scene scene;
  std::mt19937_64 random(5);
  const auto good = write_request(scene.ref, false, {{{0, 8}, {8, 8}}, 0, 16});
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::uint64_t> words(round % 2 == 0 ? random() % 12 : good.size() / 8);
    if (round % 2 == 0) {
      for (auto& word : words) word = random() % 3 == 0 ? random() % 9 : random();
    } else {  // one bit of a good one
      std::memcpy(words.data(), good.data(), good.size());
      words[random() % words.size()] ^= std::uint64_t{1} << (random() % 64);
    }
    const auto answer = scene.ask(Slice::own(words));
    const auto said = read_answer(answer.body.bytes());
    if (said) BOOST_TEST(answer.blob.size() <= 100000u);
  }
}

BOOST_AUTO_TEST_CASE(an_answer_counts_only_from_who_was_asked_and_with_all_bytes) {
  Scene scene;
  auto ref = scene.ref;
  ref.node = scene.stranger_info.id;  // the stranger exposes it, so to speak
  ref.control = scene.stranger_info.control;
  ref.store += 1;
  ref.host = 0;
  std::vector<std::byte> to(8, std::byte{7});
  const auto pulled_when = [&](auto&& reply) {
    auto& reader = scene.node->bulk->reader();
    const auto before = scene.heard.log().frames.size();
    auto memory = BulkMemory{nullptr, to};
    auto done = reader.pull_later(ref, {{0, 8}}, memory, {Millis(2000), std::nullopt});
    BOOST_REQUIRE(eventually([&] { return scene.heard.log().frames.size() > before; }));
    reply(scene.heard.log().frames.back().second.header.message_id);
    return done.get();
  };
  const auto reply = [&](Transport& from, std::uint64_t id, std::size_t bytes) {
    Frame frame;
    frame.header.kind = FrameKind::bulk_answer;
    frame.header.message_id = id;
    frame.body = write_answer(Slice());
    frame.blob = Slice::own(std::vector<std::byte>(bytes, std::byte{1}));
    from.send(scene.node->self.id, std::move(frame));
  };
  RecordingHandler heard;
  const auto third = scene.hub.make({{"third", 10}, {}, "1", 1});
  BOOST_REQUIRE(third->start(heard));
  third->connect(scene.node->self.control, {});
  BOOST_REQUIRE(eventually([&] { return !heard.log().up.empty(); }));
  const auto good = pulled_when([&](std::uint64_t id) {
    reply(*third, id, 9);               // not asked
    reply(*scene.stranger, id + 1, 9);  // no such question
    reply(*scene.stranger, id, 8);
  });
  BOOST_TEST(good.has_value());
  BOOST_TEST((to == std::vector<std::byte>(8, std::byte{1})));
  for (const std::size_t bytes : {0U, 7U, 9U}) {
    const auto bad = pulled_when([&](std::uint64_t id) { reply(*scene.stranger, id, bytes); });
    BOOST_REQUIRE(!bad);
    BOOST_CHECK(bad.error().code == ErrorCode::corrupt);
  }
  const auto gone = pulled_when([&](std::uint64_t) { scene.stranger->stop(); });
  BOOST_REQUIRE(!gone);
  BOOST_CHECK(gone.error().code == ErrorCode::unavailable);
  third->stop();
}

}  // namespace
}  // namespace troupe
