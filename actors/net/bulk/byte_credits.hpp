// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace troupe {

using Deadline = std::chrono::steady_clock::time_point;

/// Bounds the bytes that are on their way at once; who comes when there are none left waits his
/// turn. Safe from any thread.
class ByteCredits {
 public:
  explicit ByteCredits(std::uint64_t limit) : limit_(limit) {}
  ByteCredits(const ByteCredits&) = delete;

  /// Credits that go back when it is destroyed.
  class Held {
   public:
    Held() = default;
    Held(Held&& other) noexcept;
    Held& operator=(Held&& other) noexcept;
    ~Held();

   private:
    friend class ByteCredits;
    Held(ByteCredits& from, std::uint64_t bytes) : from_(&from), bytes_(bytes) {}

    ByteCredits* from_ = nullptr;
    std::uint64_t bytes_ = 0;
  };

  /// Waits for its turn and for the credits; more than there are at all counts as all of them.
  /// Errors: timeout.
  [[nodiscard]] Result<Held> take(std::uint64_t bytes, Deadline deadline);
  [[nodiscard]] std::uint64_t in_use() const;

 private:
  void give_back(std::uint64_t bytes);

  const std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t in_use_ = 0;
  bool someone_first_ = false;  ///< somebody is waiting for credits to come back
};

}  // namespace troupe
