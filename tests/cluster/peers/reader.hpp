// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/ucx_transport.hpp"
#include "tests/support/recording_handler.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace troupe::test {

/// A transport whose reader has stopped: it keeps all that it gets, until it goes on. The messages
/// to each target are numbered in the order in which they were sent.
class Reader : private RecordingHandler {
 public:
  explicit Reader(const ClusterSecret& secret)
      : transport_(
            make_ucx_transport({{"reader", random_number()}, "1", 1, {"127.0.0.1", 0}, secret})),
        info_(transport_->start(*this).value()) {}
  ~Reader() override { transport_->stop(); }

  [[nodiscard]] const PeerInfo& info() const { return info_; }
  void resume() {
    const std::lock_guard lock(mutex_);
    stopped_ = false;
    kept_.clear();
  }
  [[nodiscard]] std::string seen() {
    const std::lock_guard lock(mutex_);
    return in_order_ ? std::to_string(count_) : "error out of order";
  }

 private:
  void on_frame(const NodeId&, Frame frame) override {
    const std::lock_guard lock(mutex_);
    ++count_;
    auto& next = next_[frame.header.target];
    in_order_ = in_order_ && frame.header.message_id == next;
    ++next;
    if (stopped_) kept_.push_back(std::move(frame));
  }

  std::mutex mutex_;
  bool stopped_ = true;
  bool in_order_ = true;
  std::uint64_t count_ = 0;
  std::map<ActorNumber, std::uint64_t> next_;
  std::vector<Frame> kept_;
  std::unique_ptr<Transport> transport_;
  PeerInfo info_;
};

}  // namespace troupe::test
