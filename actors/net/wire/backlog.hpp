// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace troupe {

/// What waits in this process for one peer: given to the transport and not yet to UCX. Counted from
/// any thread.
struct Backlog {
  static constexpr std::size_t max_frames = 1 << 16;
  static constexpr std::size_t max_bytes = std::size_t{256} << 20;

  [[nodiscard]] bool full() const { return frames >= max_frames || bytes >= max_bytes; }

  std::atomic<std::size_t> frames{0};
  std::atomic<std::size_t> bytes{0};
};

/// Counts one frame as waiting for as long as it lives.
class Charge {
 public:
  Charge() = default;
  Charge(std::shared_ptr<Backlog> backlog, std::size_t bytes)
      : backlog_(std::move(backlog)), bytes_(bytes) {
    ++backlog_->frames;
    backlog_->bytes += bytes_;
  }
  Charge(Charge&&) = default;
  Charge& operator=(Charge&& other) noexcept {
    std::swap(backlog_, other.backlog_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() {
    if (backlog_ == nullptr) return;
    --backlog_->frames;
    backlog_->bytes -= bytes_;
  }

 private:
  std::shared_ptr<Backlog> backlog_;
  std::size_t bytes_ = 0;
};

}  // namespace troupe
