// SPDX-License-Identifier: Apache-2.0
//
// What happens when the exposing process dies, stops, or was never what the ref says.
#include "actors/net/bulk/this_host.hpp"
#include "actors/net/ucx_worker.hpp"
#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"
#include "tests/unit/actors/net/bulk/bulk_node.hpp"
#include "tests/unit/actors/net/bulk/peer_process.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>

#include <thread>

namespace troupe {
namespace {

using test::BulkNode;
using test::is_pattern;
using test::PeerProcess;
using Clock = std::chrono::steady_clock;

const bool environment_is_set = (UcxWorker::set_environment(true), true);
constexpr std::uint64_t large = std::uint64_t{64} << 20;

struct Pair {
  ClusterSecret secret = ClusterSecret::random();
  std::unique_ptr<BulkNode> node = BulkNode::on_ucx("reader", secret);
  PeerProcess peer{secret};

  BulkReader& reader() { return node->bulk->reader(); }
};

BulkOptions options_for(const std::string& path) {
  BulkOptions options;
  options.timeout = Millis(20000);
  if (path == "message") options.only = BulkPath::message;
  return options;
}

std::string exposure_for(const std::string& path) {
  return path == "memfd" ? "file read" : "memory read";
}

const auto paths =
    boost::unit_test::data::make(std::vector<std::string>{"memfd", "cma", "message"});

BOOST_DATA_TEST_CASE(a_pull_from_a_process_that_is_killed_ends_with_an_error, paths, path) {
  for (int round = 0; round < 4; ++round) {
    Pair pair;
    const auto ref = pair.peer.expose(exposure_for(path), large);
    std::vector<std::byte> to(large);
    const BulkRange all[] = {{0, large}};
    std::atomic<int> begun{0};
    Result<BulkDone> last;
    Clock::time_point ended;
    bool torn = false;
    std::thread puller([&] {
      do {
        ++begun;
        last = pair.reader().pull(ref, all, to, options_for(path));
        ended = Clock::now();
        // A sample of each page: looking at all bytes would take longer than pulling them.
        for (std::uint64_t i = 0; last && i < large; i += 1021)
          torn |= to[i] != test::pattern_at(i);
      } while (last);
    });
    BOOST_REQUIRE(test::eventually([&] { return begun >= 2 + round; }));
    const auto killed = Clock::now();
    pair.peer.kill();
    puller.join();
    BOOST_TEST(!torn);
    BOOST_CHECK_MESSAGE(last.error().code == ErrorCode::unavailable, last.error().what);
    BOOST_TEST((ended - killed < Millis(200)));
    // And it stays so.
    const auto begin = Clock::now();
    BOOST_TEST(!pair.reader().pull(ref, all, to, options_for(path)));
    BOOST_TEST((Clock::now() - begin < Millis(200)));
  }
}

BOOST_AUTO_TEST_CASE(a_pull_from_a_process_that_is_stopped_times_out) {
  Pair pair;
  const auto ref = pair.peer.expose("memory read", large);
  std::vector<std::byte> to(large);
  const BulkRange all[] = {{0, large}};
  pair.peer.signal(SIGSTOP);
  BulkOptions options{Millis(100), BulkPath::message};
  const auto done = pair.reader().pull(ref, all, to, options);
  BOOST_REQUIRE(!done);
  BOOST_CHECK(done.error().code == ErrorCode::timeout);
  // The kernel does not need it to run.
  options.only = BulkPath::cma;
  options.timeout = Millis(5000);
  BOOST_TEST(pair.reader().pull(ref, all, to, options).has_value());
  pair.peer.signal(SIGCONT);
}

BOOST_AUTO_TEST_CASE(a_process_of_another_user_on_this_host_gets_nothing) {
  const auto secret = ClusterSecret::random();
  const auto node = BulkNode::on_ucx("exposer", secret);
  auto memory = std::make_shared<std::vector<std::byte>>(1000000);
  test::fill_pattern(*memory);
  const auto ref = node->bulk->store().expose(Slice(memory, *memory)).value();
  PeerProcess same(secret);
  BOOST_TEST(same.ask("pull " + test::to_text(ref) + " 10000") == "cma");
  if (::geteuid() != 0) return;  // nobody else can be had
  PeerProcess other(secret);
  BOOST_REQUIRE(other.ask("become 65534") == "yes");
  // The kernel denies it our memory, and the accept gate a connection to ask by messages.
  const auto answer = other.ask("pull " + test::to_text(ref) + " 10000");
  for (const char* path : {"memory", "memfd", "cma", "message"}) BOOST_TEST(answer != path);
}

BOOST_AUTO_TEST_CASE(a_ref_to_what_is_no_exposing_process_is_refused) {
  Pair pair;
  const auto ref = pair.peer.expose("memory read", 4096);
  std::vector<std::byte> to(4096);
  const BulkRange all[] = {{0, 4096}};
  const auto refused = [&](auto&& spoil) {
    auto wrong = ref;
    wrong.node = {};  // no way out through messages
    spoil(wrong);
    return !pair.reader().pull(wrong, all, to);
  };
  BOOST_TEST(refused([](BulkRef& r) { r.started += 1; }));
  BOOST_TEST(refused([](BulkRef& r) { r.pid = 0; }));
  BOOST_TEST(refused([](BulkRef& r) { r.pid = 0xffffffff; }));
  BOOST_TEST(refused([](BulkRef& r) { r.host += 1; }));
  BOOST_TEST(refused([](BulkRef& r) { r.store += 1; }));
  for (const int table : {-1, 0, 1, 2, 1000000}) {
    BOOST_TEST(refused([&](BulkRef& r) { r.table = table; }));
  }
  BOOST_TEST(!refused([](BulkRef&) {}));
}

BOOST_AUTO_TEST_CASE(a_file_that_only_looks_like_a_table_is_refused) {
  Pair pair;
  const auto pid = ::getpid();
  BulkRef ref;
  ref.host = host_token();
  ref.pid = static_cast<std::uint32_t>(pid);
  ref.started = start_time_of(pid).value();
  ref.store = 5;
  ref.key = 7;
  ref.length = 8;
  std::vector<std::byte> to(8);
  const BulkRange all[] = {{0, 8}};
  const auto refused = [&](int fd) {
    ref.table = fd;
    return !pair.reader().pull(ref, all, to);
  };
  const Fd can_shrink(::memfd_create("troupe-bulk", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  BOOST_REQUIRE(::ftruncate(can_shrink.get(), 16 << 20) == 0);
  BOOST_TEST(refused(can_shrink.get()));
  BOOST_TEST(refused(make_bulk_file("troupe-bulk", 4096)->get()));
  BOOST_TEST(refused(make_bulk_file("troupe-bulk", 16 << 20)->get()));
  BOOST_TEST(refused(make_bulk_file("other", 16 << 20)->get()));
}

}  // namespace
}  // namespace troupe
