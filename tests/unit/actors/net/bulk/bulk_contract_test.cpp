// SPDX-License-Identifier: Apache-2.0
//
// The same contract for every path that bytes can take.
#include "actors/net/ucx_worker.hpp"
#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"
#include "tests/unit/actors/net/bulk/bulk_node.hpp"
#include "tests/unit/actors/net/bulk/peer_process.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <thread>

namespace troupe {
namespace {

using test::BulkNode;
using test::is_pattern;
using test::PeerProcess;

const bool environment_is_set = (UcxWorker::set_environment(true), true);
constexpr std::uint64_t size = (std::uint64_t{9} << 20) + 12345;  // several pieces on every path

/// Exposed memory that is reached over one path.
class Scene {
 public:
  explicit Scene(const std::string& kind) : kind_(kind) {
    options.timeout = Millis(10000);
    if (kind == "message-loopback") {
      node_ = BulkNode::on_hub("reader", hub_);
      other_ = BulkNode::on_hub("exposer", hub_);
    } else {
      node_ = BulkNode::on_ucx("reader", secret_);
    }
    if (kind.starts_with("message")) options.only = BulkPath::message;
    if (kind == "rma") options.only = BulkPath::rma;
    if (kind == "rma" || kind == "cma" || kind == "memfd" || kind == "message-ucx") {
      peer_ = std::make_unique<PeerProcess>(secret_);
    }
  }

  BulkRef expose(bool writable) {
    if (peer_) {
      const std::string where = kind_ == "memfd" ? "file" : "memory";
      return peer_->expose(where + (writable ? " write" : " read"), size);
    }
    memory_ = std::make_shared<std::vector<std::byte>>(size);
    test::fill_pattern(*memory_);
    ref_ = writable ? exposer().expose_writable({memory_, *memory_}).value()
                    : exposer().expose(Slice(memory_, *memory_)).value();
    return ref_;
  }
  bool withdraw() { return peer_ ? peer_->ask("withdraw") == "yes" : exposer().withdraw(ref_); }
  BulkReader& reader() { return node_->bulk->reader(); }
  std::string path() const { return kind_.substr(0, kind_.find('-')); }

  BulkOptions options;

 private:
  BulkStore& exposer() { return (other_ ? other_ : node_)->bulk->store(); }

  std::string kind_;
  ClusterSecret secret_ = ClusterSecret::random();
  LoopbackHub hub_;
  std::unique_ptr<BulkNode> node_;
  std::unique_ptr<BulkNode> other_;
  std::unique_ptr<PeerProcess> peer_;
  std::shared_ptr<std::vector<std::byte>> memory_;
  BulkRef ref_;
};

const auto kinds = boost::unit_test::data::make(
    std::vector<std::string>{"memory", "memfd", "cma", "message-loopback", "message-ucx"});

std::vector<std::byte> memory_for(std::span<const BulkRange> ranges) {
  std::uint64_t total = 0;
  for (const auto& range : ranges) total += range.length;
  return std::vector<std::byte>(total);
}

std::vector<std::vector<BulkRange>> selections() {
  std::vector<std::vector<BulkRange>> all = {{{0, size}},
                                             {},
                                             {{5, 0}, {size, 0}},
                                             {{size - 1, 1}, {0, 1}},
                                             {{4095, 2}, {100, 70000}, {3, 3000000}, {0, 8}}};
  std::vector<BulkRange> many;
  for (std::uint64_t i = 0; i < 3000; ++i) many.push_back({(i * 7919) % (size - 100), i % 97});
  all.push_back(many);
  return all;
}

BOOST_DATA_TEST_CASE(a_pull_gives_the_bytes_of_all_ranges_in_order, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(false);
  for (const auto& ranges : selections()) {
    auto to = memory_for(ranges);
    const auto done = scene.reader().pull(ref, ranges, to, scene.options);
    BOOST_REQUIRE_MESSAGE(done, test::why(done));
    BOOST_TEST(name_of(done->path) == scene.path());
    BOOST_TEST(done->bytes == to.size());
    BOOST_TEST(is_pattern(to, ranges));
  }
  const auto path = scene.reader().counters();
  BOOST_TEST(path.failed == 0u);
}

BOOST_AUTO_TEST_CASE(one_sided_reads_give_the_same_bytes_until_the_memory_is_withdrawn) {
  ::setenv("TROUPE_RMA", "cma", 1);
  Scene scene("rma");
  ::unsetenv("TROUPE_RMA");
  const auto ref = scene.expose(false);
  for (const auto& ranges : selections()) {
    auto to = memory_for(ranges);
    const auto done = scene.reader().pull(ref, ranges, to, scene.options);
    BOOST_REQUIRE_MESSAGE(done, test::why(done));
    BOOST_TEST(name_of(done->path) == "rma");
    BOOST_TEST(is_pattern(to, ranges));
  }
  BOOST_REQUIRE(scene.withdraw());
  auto to = std::vector<std::byte>(size);
  const BulkRange all[] = {{0, size}};
  const auto late = scene.reader().pull(ref, all, to, scene.options);
  BOOST_REQUIRE(!late);
  BOOST_CHECK(late.error().code == ErrorCode::not_found);
}

BOOST_AUTO_TEST_CASE(a_node_without_one_sided_reads_says_so) {
  Scene scene("message-ucx");
  const auto ref = scene.expose(false);
  std::vector<std::byte> to(size);
  const BulkRange all[] = {{0, size}};
  const auto refused = scene.reader().pull(ref, all, to, {Millis(5000), BulkPath::rma});
  BOOST_REQUIRE(!refused);
  BOOST_CHECK(refused.error().code == ErrorCode::permission_denied);
}

BOOST_DATA_TEST_CASE(a_fetch_gives_everything, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(false);
  const auto all = scene.reader().fetch(ref, scene.options);
  BOOST_REQUIRE_MESSAGE(all, test::why(all));
  const BulkRange whole[] = {{0, size}};
  BOOST_TEST(is_pattern(all->bytes(), whole));
}

BOOST_DATA_TEST_CASE(what_is_pushed_is_read_back, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(true);
  const std::vector<BulkRange> ranges = {{1000, 5000000}, {0, 10}, {size - 7, 7}};
  auto bytes = memory_for(ranges);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = ~test::pattern_at(i);
  const auto done = scene.reader().push(ref, ranges, Slice::own(bytes), scene.options);
  BOOST_REQUIRE_MESSAGE(done, test::why(done));
  BOOST_TEST(name_of(done->path) == scene.path());
  auto back = memory_for(ranges);
  BOOST_REQUIRE(scene.reader().pull(ref, ranges, back, scene.options));
  BOOST_TEST((back == bytes));
  const std::vector<BulkRange> untouched = {{10, 990}, {5001000, 1000}};
  auto rest = memory_for(untouched);
  BOOST_REQUIRE(scene.reader().pull(ref, untouched, rest, scene.options));
  BOOST_TEST(is_pattern(rest, untouched));
}

BOOST_DATA_TEST_CASE(what_must_not_be_done_is_refused, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(false);
  const auto refused = [&](BulkRef wrong, BulkRange range, ErrorCode code, bool write) {
    std::vector<std::byte> memory(std::min<std::uint64_t>(range.length, 64), std::byte{7});
    const BulkRange ranges[] = {range};
    const auto done = write ? scene.reader().push(wrong, ranges, Slice::own(memory), scene.options)
                            : scene.reader().pull(wrong, ranges, memory, scene.options);
    BOOST_REQUIRE(!done);
    BOOST_CHECK_MESSAGE(done.error().code == code, done.error().what);
    BOOST_TEST((memory == std::vector<std::byte>(memory.size(), std::byte{7})));
  };
  auto wrong = ref;
  wrong.key ^= 2;
  refused(wrong, {0, 8}, ErrorCode::not_found, false);
  wrong = ref;
  wrong.key = 0;
  refused(wrong, {0, 8}, ErrorCode::not_found, false);
  for (const auto slot : {ref.slot + 1, 70000U, 0xffffffffU}) {
    wrong = ref;
    wrong.slot = slot;
    refused(wrong, {0, 8}, ErrorCode::not_found, false);
  }
  refused(ref, {size - 7, 8}, ErrorCode::invalid_argument, false);
  refused(ref, {~std::uint64_t{0} - 3, 8}, ErrorCode::invalid_argument, false);
  // A ref that promises more than there is.
  wrong = ref;
  wrong.length = ~std::uint64_t{0};
  refused(wrong, {size - 7, 8}, ErrorCode::invalid_argument, false);
  refused(wrong, {~std::uint64_t{0} - 8, 8}, ErrorCode::invalid_argument, false);
  wrong = ref;
  wrong.writable = true;
  refused(wrong, {0, 8}, ErrorCode::permission_denied, true);
  refused(ref, {0, 8}, ErrorCode::permission_denied, true);
}

BOOST_DATA_TEST_CASE(memory_of_another_length_than_the_ranges_is_refused, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(true);
  std::vector<std::byte> memory(9);
  const BulkRange ranges[] = {{0, 8}};
  const auto pulled = scene.reader().pull(ref, ranges, memory, scene.options);
  BOOST_REQUIRE(!pulled);
  BOOST_CHECK(pulled.error().code == ErrorCode::invalid_argument);
  BOOST_TEST(!scene.reader().push(ref, ranges, Slice::own(memory), scene.options));
}

BOOST_DATA_TEST_CASE(what_was_withdrawn_cannot_be_read, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(false);
  std::vector<std::byte> memory(8);
  const BulkRange ranges[] = {{0, 8}};
  BOOST_REQUIRE(scene.reader().pull(ref, ranges, memory, scene.options));
  BOOST_REQUIRE(scene.withdraw());
  BOOST_TEST(!scene.withdraw());
  const auto done = scene.reader().pull(ref, ranges, memory, scene.options);
  BOOST_REQUIRE(!done);
  BOOST_CHECK(done.error().code == ErrorCode::not_found);
  BOOST_TEST(scene.reader().counters().failed == 1u);
  // Its place is taken by other memory, which the old ref does not reach.
  const auto next = scene.expose(false);
  BOOST_TEST(next.slot == ref.slot);
  BOOST_TEST(!scene.reader().pull(ref, ranges, memory, scene.options));
  BOOST_TEST(scene.reader().pull(next, ranges, memory, scene.options).has_value());
}

BOOST_DATA_TEST_CASE(many_threads_pull_at_once, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(false);
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const BulkRange ranges[] = {{static_cast<std::uint64_t>(t), size - 8}};
      auto to = memory_for(ranges);
      for (int round = 0; round < 3; ++round) {
        if (scene.reader().pull(ref, ranges, to, scene.options) && is_pattern(to, ranges)) ++good;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  BOOST_TEST(good == 24);
}

BOOST_DATA_TEST_CASE(a_later_pull_tells_when_it_is_done, kinds, kind) {
  Scene scene(kind);
  const auto ref = scene.expose(true);
  auto to = std::make_shared<std::vector<std::byte>>(size);
  auto done = scene.reader().pull_later(ref, {{0, size}}, {to, *to}, scene.options);
  BOOST_REQUIRE(done.get());
  const BulkRange whole[] = {{0, size}};
  BOOST_TEST(is_pattern(*to, whole));
  const auto bytes = Slice::own(std::vector<std::byte>(100));
  BOOST_REQUIRE(scene.reader().push_later(ref, {{0, 100}}, bytes, scene.options).get());
  std::promise<ErrorCode> failed;
  scene.reader().pull_later(
      ref, {{0, size + 1}}, {to, *to},
      [&](Result<BulkDone> result) {
        failed.set_value(result ? ErrorCode::internal : result.error().code);
      },
      scene.options);
  BOOST_CHECK(failed.get_future().get() == ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace troupe
