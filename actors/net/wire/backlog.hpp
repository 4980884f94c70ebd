// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace troupe {

/// What waits in this process for one peer: given to the transport and not yet to UCX. Counted in
/// by one thread at a time (Outbox has a lock for that), counted out by the transport's thread;
/// neither waits for the other.
class Backlog {
 public:
  static constexpr std::size_t max_frames = 1 << 16;
  static constexpr std::size_t max_bytes = std::size_t{256} << 20;

  explicit Backlog(NodeId peer) : peer_(std::move(peer)) {}

  [[nodiscard]] const NodeId& peer() const { return peer_; }
  [[nodiscard]] bool full() {
    if (below(max_frames / 2, max_bytes / 2)) return false;  // as it was when it looked last
    look();
    return !below(max_frames, max_bytes);
  }
  [[nodiscard]] bool empty() {
    look();
    return frames_in_ == frames_seen_;
  }
  void count_in(std::size_t bytes) {
    ++frames_in_;
    bytes_in_ += bytes;
  }
  void count_out(std::size_t bytes) {
    bytes_out_.store(bytes_out_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    frames_out_.store(frames_out_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  [[nodiscard]] bool below(std::size_t frames, std::size_t bytes) const {
    return frames_in_ - frames_seen_ < frames && bytes_in_ - bytes_seen_ < bytes;
  }
  void look() {
    frames_seen_ = frames_out_.load(std::memory_order_acquire);
    bytes_seen_ = bytes_out_.load(std::memory_order_relaxed);
  }

  const NodeId peer_;
  std::uint64_t frames_in_ = 0;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t frames_seen_ = 0;  ///< of those that are out
  std::uint64_t bytes_seen_ = 0;
  alignas(64) std::atomic<std::uint64_t> frames_out_{0};
  std::atomic<std::uint64_t> bytes_out_{0};
};

/// Counts one frame as waiting for as long as it lives; ends on the transport's thread, and before
/// its backlog does.
class Charge {
 public:
  Charge() = default;
  Charge(Backlog& backlog, std::size_t bytes) : backlog_(&backlog), bytes_(bytes) {
    backlog.count_in(bytes);
  }
  Charge(Charge&& other) noexcept
      : backlog_(std::exchange(other.backlog_, nullptr)), bytes_(other.bytes_) {}
  Charge& operator=(Charge&& other) noexcept {
    std::swap(backlog_, other.backlog_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Charge() {
    if (backlog_ != nullptr) backlog_->count_out(bytes_);
  }

  [[nodiscard]] const Backlog* backlog() const { return backlog_; }

 private:
  Backlog* backlog_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace troupe
