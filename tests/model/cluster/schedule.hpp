// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/model/cluster/network.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::model {

/// Something that befalls machines of a cluster.
struct Fault {
  enum class Kind {
    kill,       ///< the process ends at once
    power_off,  ///< and nobody closes its connections
    stop,       ///< it does not run for a while
    partition,  ///< nothing passes between `group` and the others
    one_way,    ///< nothing passes from `machine` to `other`
    slow,       ///< what it sends comes later, by up to `delay`
    jump,       ///< its clock goes forward by `delay`
  };

  Kind kind = Kind::kill;
  Millis at{0};
  Millis length{0};  ///< until it is undone; a killed process is started again then
  std::size_t machine = 0;
  std::size_t other = 0;
  std::uint64_t group = 0;  ///< a bit for each machine
  Millis delay{0};
};

/// What happens to a cluster; follows from the seed alone.
struct Schedule {
  std::uint64_t seed = 0;
  std::size_t machines = 3;
  Millis length{60'000};  ///< all faults are undone by then
  std::vector<Fault> faults;
  Network::Options network;
};

[[nodiscard]] Schedule make_schedule(std::uint64_t seed);
/// Only pauses that a busy machine makes: no longer than 2 s.
[[nodiscard]] Schedule make_busy_schedule(std::uint64_t seed);
[[nodiscard]] std::string to_string(const Schedule& schedule);

/// Plans all that the schedule says. `struck` hears of each fault right after it has struck.
void plan(const Schedule& schedule, EventLoop& loop, Network& network,
          std::function<void(const Fault&)> struck);

}  // namespace troupe::model
