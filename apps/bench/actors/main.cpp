// SPDX-License-Identifier: Apache-2.0
//
// `troupe bench actors`: what a message between actors costs here. The same program is one end of
// what is measured when it is started as `--peer NAME`.
#include "actors/net/ucx_worker.hpp"
#include "apps/bench/actors/conditions.hpp"
#include "apps/bench/actors/options.hpp"
#include "apps/bench/actors/report.hpp"
#include "apps/bench/actors/rounds.hpp"
#include "apps/bench/actors/troupe_peer.hpp"
#include "apps/bench/actors/ucx_peer.hpp"
#include "apps/bench/peer/peer.hpp"
#include "apps/troupe/host/programs.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>

namespace troupe::bench {
namespace {

Result<std::unique_ptr<Peer>> make_peer(const std::string& name) {
  if (name == "troupe") return make_troupe_peer();
  if (name == "raw_ucx") return make_ucx_peer();
  return fail(ErrorCode::invalid_argument, "no peer '" + name + "'");
}

std::map<std::string, std::string> find_binaries() {
  std::map<std::string, std::string> binaries;
  const auto find = [&](const std::string& program, const std::vector<std::string>& peers) {
    const auto path = find_program(program);
    for (const auto& peer : peers) {
      if (path) binaries.emplace(peer, *path);
    }
  };
  find("troupe-bench-actors", {"troupe", "raw_ucx"});
  find("troupe-bench-basp", {"basp", "basp_sharing"});
  return binaries;
}

int measure(const Options& options) {
  UcxWorker::set_environment(true);  // all peers inherit the same settings
  const auto begin = std::chrono::steady_clock::now();
  const auto load_before = load_average();
  const auto cores = usable_cores();
  std::vector<std::string> core_sets;
  if (cores.size() > 1) {
    core_sets.push_back(std::to_string(cores[0]) + "," + std::to_string(cores[1]));
  }
  core_sets.push_back(std::to_string(cores[0]));
  const auto plan = make_plan(options.effort);
  const auto outcomes = run_rounds(plan, core_sets, find_binaries(), [](const std::string& news) {
    std::fprintf(stderr, "troupe-bench-actors: %s\n", news.c_str());
  });
  auto about = conditions();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  about.emplace_back("load_before", load_before);
  about.emplace_back("load_after", load_average());
  about.emplace_back("took_s", took.count());
  const auto text = options.json ? to_text(report(plan, outcomes, std::move(about))) + "\n"
                                 : report_table(plan, outcomes);
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run(const std::vector<std::string>& words) {
  const auto options = parse_options(words);
  if (!options) {
    std::fprintf(stderr, "troupe-bench-actors: %s\n%s", options.error().what.c_str(), usage);
    return 2;
  }
  if (!options->help) return measure(*options);
  std::fputs(usage, stdout);
  return 0;
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  try {
    if (argc > 1 && std::strcmp(argv[1], "--peer") == 0) {
      return troupe::bench::peer_main(argc, argv, troupe::bench::make_peer);
    }
    return troupe::bench::run({argv + 1, argv + argc});
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "troupe-bench-actors: internal fault: %s\n", fault.what());
    return 1;
  }
}
