// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/plan.hpp"

#include <utility>

namespace troupe::bench {
namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

struct Counts {
  unsigned rounds;
  std::uint64_t local_pings;
  std::uint64_t pings;
  std::uint64_t small;
  std::uint64_t large;
  std::uint64_t huge;
  std::uint64_t pulls;       ///< of 1 MiB
  std::uint64_t huge_pulls;  ///< of 64 MiB
};

Counts counts_for(Effort effort) {
  switch (effort) {
    case Effort::quick:
      return {1, 50, 20, 100, 4, 1, 4, 1};
    case Effort::normal:
      return {9, 10'000, 1'500, 30'000, 128, 4, 256, 4};
    case Effort::thorough:
      return {31, 100'000, 5'000, 100'000, 256, 8, 1024, 8};
  }
  return {};
}

/// One pull after the other over each path, of 1 MiB and of 64 MiB.
void add_pulls(std::vector<Probe>& probes, const Counts& n) {
  const std::pair<Work, std::string> paths[] = {{Work::pull_memfd, "bulk_memfd"},
                                                {Work::pull_cma, "bulk_cma"},
                                                {Work::pull_message, "bulk_message"}};
  constexpr auto quantity = Quantity::gigabytes_per_second;
  for (const auto& [work, key] : paths) {
    probes.push_back(
        {"troupe", {work, Lane::scheduled, mib, n.pulls, 0}, quantity, {key + "_gbps"}});
    probes.push_back({"troupe",
                      {work, Lane::scheduled, 64 * mib, n.huge_pulls, 0},
                      quantity,
                      {key + "_64mib_gbps"}});
  }
}

std::vector<std::string> rtt_keys(const std::string& stem) {
  return {stem + "_rtt_us_p50", stem + "_rtt_us_p99"};
}

}  // namespace

Plan make_plan(Effort effort) {
  const auto n = counts_for(effort);
  Plan plan;
  plan.rounds = n.rounds;
  if (effort == Effort::thorough) plan.time = std::chrono::seconds(3600);
  const Task ping{Work::ping_pong, Lane::scheduled, 64, n.pings, 0};
  const Task inlined{Work::ping_pong, Lane::inlined, 64, n.pings, 0};
  const Task local{Work::ping_pong, Lane::local, 64, n.local_pings, 0};
  const Task small{Work::stream, Lane::scheduled, 64, n.small, 8192};
  const Task small_inlined{Work::stream, Lane::inlined, 64, n.small, 8192};
  const Task large{Work::stream, Lane::scheduled, mib, n.large, 8};
  const Task huge{Work::stream, Lane::scheduled, 64 * mib, n.huge, 2};
  constexpr auto rate = Quantity::messages_per_second;
  constexpr auto bytes = Quantity::gigabytes_per_second;
  plan.probes = {
      {"troupe", local, Quantity::micros, {"local_rtt_us", "local_rtt_us_p99"}},
      {"troupe", inlined, Quantity::micros, rtt_keys("remote_inline")},
      {"troupe", ping, Quantity::micros, rtt_keys("remote_sched")},
      {"basp", ping, Quantity::micros, rtt_keys("basp")},
      {"basp_sharing", ping, Quantity::micros, rtt_keys("basp_sharing")},
      {"raw_ucx", ping, Quantity::micros, rtt_keys("raw_ucx")},
      {"troupe", small, rate, {"remote_msgs_per_s"}},
      {"troupe", small_inlined, rate, {"remote_inline_msgs_per_s"}},
      {"basp", small, rate, {"basp_msgs_per_s"}},
      {"basp_sharing", small, rate, {"basp_sharing_msgs_per_s"}},
      {"raw_ucx", small, rate, {"raw_ucx_msgs_per_s"}},
      {"troupe", large, bytes, {"blob_1mib_gbps"}},
      {"basp", large, bytes, {"basp_1mib_gbps"}},
      {"raw_ucx", large, bytes, {"raw_ucx_1mib_gbps"}},
      {"troupe", huge, bytes, {"blob_64mib_gbps"}},
      {"basp", huge, bytes, {"basp_64mib_gbps"}},
      {"raw_ucx", huge, bytes, {"raw_ucx_64mib_gbps"}},
  };
  add_pulls(plan.probes, n);
  plan.bars = {
      {"inline_rtt_to_basp", "remote_inline_rtt_us_p50", "basp_rtt_us_p50", false, 0.5},
      {"inline_rtt_to_raw_ucx", "remote_inline_rtt_us_p50", "raw_ucx_rtt_us_p50", false, 1.6},
      {"sched_rtt_to_basp", "remote_sched_rtt_us_p50", "basp_rtt_us_p50", false, 1},
      {"msgs_per_s_to_basp", "remote_msgs_per_s", "basp_msgs_per_s", true, 3},
      {"blob_1mib_to_raw_ucx", "blob_1mib_gbps", "raw_ucx_1mib_gbps", true, 0.85},
  };
  return plan;
}

std::vector<double> convert(const Probe& probe, std::vector<double> figures) {
  figures.resize(probe.keys.size());
  for (auto& figure : figures) {
    const auto count = static_cast<double>(probe.task.count);
    if (probe.quantity == Quantity::messages_per_second) figure = count / figure;
    if (probe.quantity == Quantity::gigabytes_per_second) {
      figure = count * static_cast<double>(probe.task.bytes) / figure / 1e9;
    }
  }
  return figures;
}

}  // namespace troupe::bench
