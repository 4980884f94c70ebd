// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/peer/peer.hpp"

#include "apps/bench/peer/line_channel.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <sstream>

namespace troupe::bench {
namespace {

constexpr int orders_fd = 3;

Result<void> pin(const std::string& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::istringstream in(cores);
  std::string core;
  while (std::getline(in, core, ',')) CPU_SET(std::stoul(core), &set);
  if (::sched_setaffinity(0, sizeof set, &set) == 0) return {};
  return fail(ErrorCode::invalid_argument, "cannot run on cores " + cores);
}

template <class Value, class ToText>
std::string answer(const Result<Value>& result, ToText&& text) {
  return result ? "ok " + text(*result) : "error " + result.error().what;
}

std::string to_text(const std::vector<double>& figures) {
  std::ostringstream out;
  out.precision(17);
  for (const double figure : figures) out << figure << ' ';
  return out.str();
}

/// What to say to an order: "serve", "join TEXT", "accept TEXT", "measure TASK".
std::string carry_out(Peer& peer, const std::string& order) {
  const auto space = std::min(order.find(' '), order.size());
  const auto word = order.substr(0, space);
  const auto rest = order.substr(std::min(space + 1, order.size()));
  const auto same = [](const std::string& text) { return text; };
  if (word == "serve") return answer(peer.serve(), same);
  if (word == "join") return answer(peer.join(rest), same);
  if (word == "accept") {
    const auto accepted = peer.accept(rest);
    return accepted ? "ok" : "error " + accepted.error().what;
  }
  const auto task = parse_task(rest);
  if (word != "measure" || !task) return "error no such order: " + order;
  return answer(peer.measure(*task), to_text);
}

void follow_orders(Peer& peer, LineChannel& orders) {
  while (true) {
    const auto order = orders.receive();
    if (!order || !orders.send(carry_out(peer, *order))) return;
  }
}

}  // namespace

int peer_main(int argc, char** argv,
              const std::function<Result<std::unique_ptr<Peer>>(const std::string&)>& make) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 5 || std::strcmp(argv[1], "--peer") != 0 || std::strcmp(argv[3], "--cores") != 0) {
    std::fprintf(stderr, "%s is started by a benchmark: see 'troupe bench --help'\n", argv[0]);
    return 2;
  }
  auto pinned = pin(argv[4]);
  auto peer = pinned ? make(argv[2]) : Failure(pinned.error());
  LineChannel orders{Fd(orders_fd)};
  if (peer) {
    follow_orders(**peer, orders);
  } else if (orders.receive()) {
    (void)orders.send("error " + peer.error().what);
  }
  ::_exit(0);  // the other end may be gone: nobody waits for goodbyes
}

}  // namespace troupe::bench
