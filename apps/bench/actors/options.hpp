// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <string>
#include <vector>

namespace troupe::bench {

/// How much to measure.
enum class Effort {
  quick,   ///< hardly anything: does it work here?
  normal,  ///< what the documentation's figures are made with
  thorough,
};

struct Options {
  bool json = false;
  bool help = false;
  Effort effort = Effort::normal;
};

constexpr const char* usage =
    "Usage: troupe-bench-actors [-o table|json] [--long | --quick]\n"
    "Measures messages between actors: round trips, messages a second, bytes a second; beside "
    "them\n"
    "the same over CAF's own network and over UCX alone.\n";

[[nodiscard]] Result<Options> parse_options(const std::vector<std::string>& words);

}  // namespace troupe::bench
