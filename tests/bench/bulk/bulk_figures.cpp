// SPDX-License-Identifier: Apache-2.0
//
// Prints how fast exposed memory is pulled over each path, from another process of this host where
// the path leads there: the median of some rounds, the slowest and the fastest, in GB/s.
#include "actors/net/ucx_worker.hpp"
#include "tests/unit/actors/net/bulk/bulk_node.hpp"
#include "tests/unit/actors/net/bulk/peer_process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int rounds = 15;

struct Figure {
  double low = 0;
  double median = 0;
  double high = 0;
};

Figure measure(BulkReader& reader, const BulkRef& ref, BulkPath path) {
  std::vector<std::byte> to(ref.length);
  const BulkRange all[] = {{0, ref.length}};
  const BulkOptions options{Millis(60000), path};
  const int repeats = ref.length < (std::uint64_t{8} << 20) ? 32 : 2;
  std::vector<double> speeds;
  for (int round = -1; round < rounds; ++round) {  // the first one warms up
    const auto begin = Clock::now();
    for (int i = 0; i < repeats; ++i) {
      const auto done = reader.pull(ref, all, to, options);
      if (!done) throw std::runtime_error(done.error().what);
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    if (round >= 0) {
      speeds.push_back(static_cast<double>(ref.length) * repeats / took.count() / 1e9);
    }
  }
  if (!test::is_pattern(to, all)) throw std::runtime_error("wrong bytes");
  std::sort(speeds.begin(), speeds.end());
  return {speeds.front(), speeds[speeds.size() / 2], speeds.back()};
}

void print(std::string_view path, std::uint64_t bytes, const Figure& figure) {
  std::printf("%-8s %3llu MiB  %6.2f GB/s  (%.2f to %.2f)\n", std::string(path).c_str(),
              static_cast<unsigned long long>(bytes >> 20), figure.median, figure.low, figure.high);
}

void run() {
  const auto secret = ClusterSecret::random();
  const auto node = test::BulkNode::on_ucx("reader", secret);
  auto& reader = node->bulk->reader();
  for (const std::uint64_t bytes : {std::uint64_t{1} << 20, std::uint64_t{64} << 20}) {
    auto memory = std::make_shared<std::vector<std::byte>>(bytes);
    test::fill_pattern(*memory);
    const auto own = node->bulk->store().expose(Slice(memory, *memory)).value();
    print("memory", bytes, measure(reader, own, BulkPath::memory));
    test::PeerProcess peer(secret);
    print("memfd", bytes, measure(reader, peer.expose("file read", bytes), BulkPath::file));
    const auto ref = peer.expose("memory read", bytes);
    print("cma", bytes, measure(reader, ref, BulkPath::cma));
    print("rma", bytes, measure(reader, ref, BulkPath::rma));  // here by UCX's cma
    print("message", bytes, measure(reader, ref, BulkPath::message));
  }
}

}  // namespace
}  // namespace troupe

int main() {
  troupe::UcxWorker::set_environment(true);
  ::setenv("TROUPE_RMA", "cma", 1);
  try {
    troupe::run();
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "bulk-figures: %s\n", fault.what());
    return 1;
  }
  return 0;
}
