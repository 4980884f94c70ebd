// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/checkpoint_link.hpp"
#include "gpu/easyscale/replica.hpp"

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace troupe::easyscale {

/// A trainer's checkpoints: where it goes on from, and what it writes while it is the one that
/// keeps the state. Owned by the trainer and called from its thread.
class TrainerCheckpoints {
 public:
  /// `news` is called from another thread when send_news() has something to send.
  TrainerCheckpoints(const CheckpointTerms& terms, const std::string& fingerprint,
                     const ReplicaOptions& options, Replica& replica, std::function<void()> news);

  /// Loads the checkpoint to go on from, and gives its step. None: there is none to go on from, or
  /// it is on another host, whose trainers have it. Errors: it is damaged, or of another job.
  Result<std::optional<std::uint64_t>> resume();

  [[nodiscard]] bool wants(std::uint64_t step) const { return writer_.wants(step); }
  /// The state at the start of a step; written and hashed in the background, if it is its turn.
  void keep(std::uint64_t step, const Slice& state);
  void flush() { writer_.flush(); }
  void send_news(caf::event_based_actor& self, const caf::actor& coordinator);

 private:
  [[nodiscard]] Result<void> check_same_training(const Manifest& manifest) const;

  CheckpointTerms terms_;
  Manifest about_;
  Replica& replica_;
  std::map<std::uint64_t, std::chrono::duration<double>> stalls_;  // by step
  CheckpointWriter writer_;
};

}  // namespace troupe::easyscale
