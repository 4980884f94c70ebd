// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/lease/lease_keeper.hpp"
#include "tests/model/cluster/network.hpp"
#include "tests/support/memory_store.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <random>

namespace troupe::model {

/// The store of a simulated cluster: a service beside machine 0 that outlives all machines. Who is
/// cut off from machine 0 is cut off from it. Its clock is true.
class StoreService {
 public:
  StoreService(EventLoop& loop, Network& network, std::uint64_t seed);

  /// Asks for a machine; `answer` is called there exactly once if the process lives, after 3 s at
  /// the latest.
  void ask(std::size_t machine, std::function<KeeperEvent(Store&)> what,
           std::function<void(const KeeperEvent&)> answer);

  void set_reachable(bool reachable);
  /// One request in five is lost, and one answer in five.
  void set_flaky(bool flaky);
  [[nodiscard]] bool reaches(std::size_t machine) const;
  [[nodiscard]] bool well() const { return data_->reachable && !flaky_; }

 private:
  [[nodiscard]] Millis travel(std::size_t machine);
  [[nodiscard]] bool lost() { return flaky_ && random_() % 5 == 0; }

  EventLoop& loop_;
  Network& network_;
  std::mt19937_64 random_;
  std::shared_ptr<test::MemoryStoreData> data_ = std::make_shared<test::MemoryStoreData>();
  bool flaky_ = false;
};

}  // namespace troupe::model
