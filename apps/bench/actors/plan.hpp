// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/bench/actors/options.hpp"
#include "apps/bench/peer/task.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace troupe::bench {

/// What a stream's time is turned into.
enum class Quantity { micros, messages_per_second, gigabytes_per_second };

/// One thing that every round measures.
struct Probe {
  std::string peer;  ///< "troupe", "basp", "basp_sharing", "raw_ucx"
  Task task;
  Quantity quantity = Quantity::micros;
  std::vector<std::string> keys;  ///< of the figures, in the order in which the peer gives them
};

/// What the figures of a round are to be compared with, and what is aimed at.
struct Bar {
  std::string name;
  std::string ours;
  std::string theirs;
  bool at_least = true;  ///< ours / theirs should be that much at least, or else at most
  double ratio = 1;
};

struct Plan {
  unsigned rounds = 9;
  std::chrono::seconds time{200};  ///< no round begins after that
  std::vector<Probe> probes;
  std::vector<Bar> bars;
};

[[nodiscard]] Plan make_plan(Effort effort);

/// The figures as they are reported, from those that the peer gave.
[[nodiscard]] std::vector<double> convert(const Probe& probe, std::vector<double> figures);

}  // namespace troupe::bench
