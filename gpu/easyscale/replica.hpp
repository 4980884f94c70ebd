// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/state_layout.hpp"
#include "gpu/easyscale/engine/module_scan.hpp"
#include "gpu/easyscale/job/job_state.hpp"
#include "gpu/easyscale/job/vrank_tree.hpp"
#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe {
class TrainProgram;
}

namespace troupe::easyscale {

struct ReplicaOptions {
  std::uint64_t seed = 1;
  Rank ranks = 1;
  std::uint32_t batch = 1;  ///< samples that a rank computes at once
  std::uint64_t epochs = 1;
  std::string data;  ///< of the program; empty: where it is by default
  std::string device = "cpu";
  std::uint32_t accumulate = 1;  ///< how many such micro-batches a rank computes in a step
  double clip_norm = 0;          ///< largest norm of a step's gradient; 0: none
  bool bf16 = false;             ///< autocast to bfloat16
  /// Shared by all replicas of a process: torch's generators and thread numbers are process-wide.
  std::shared_ptr<std::mutex> lease = std::make_shared<std::mutex>();
};

/// One trainer's copy of the model and its optimizer, on which it runs its virtual ranks in turn.
/// The parameters change in `apply` and `load` only. Owned by one trainer and called from its
/// thread; throws what torch and the program throw. Its header needs no torch.
class Replica {
 public:
  /// Makes a fresh model from the seed; refuses what cannot be trained bit by bit the same.
  static Result<Replica> make(std::shared_ptr<const TrainProgram> program, ReplicaOptions options);

  Replica(Replica&&) noexcept;
  Replica& operator=(Replica&&) noexcept;
  ~Replica();

  [[nodiscard]] std::uint64_t steps_per_epoch() const;
  [[nodiscard]] std::uint64_t steps() const;
  [[nodiscard]] std::size_t gradient_length() const;
  [[nodiscard]] std::size_t buffer_bytes() const;
  /// Bytes that each rank keeps from step to step: TrainProgram::rank_state.
  [[nodiscard]] std::size_t context_bytes() const;
  [[nodiscard]] ModuleScan scan() const;
  /// How many optimizer steps made this state.
  [[nodiscard]] std::uint64_t step() const;

  struct RankResult {
    RankReport report;
    std::span<const float> gradient;  ///< valid until the next call
    std::optional<Slice> buffers;     ///< from rank 0
    std::vector<std::byte> context;   ///< what the rank keeps for its next step
  };
  /// One rank's forward and backward pass in the current step: a function of the state, the seed,
  /// the step and the rank alone.
  Result<RankResult> run_rank(Rank rank);

  /// The optimizer step with the reduced gradient, clipped if that was asked for; the model's
  /// buffers as rank 0 left them; the contexts of all ranks, in rank order.
  Result<void> apply(std::span<const float> gradient, std::span<const std::byte> buffers,
                     std::span<const std::byte> contexts);

  struct Accuracy {
    std::uint64_t correct = 0;
    std::uint64_t counted = 0;
    double loss = 0;  ///< mean over what is counted
  };
  Result<Accuracy> evaluate();

  /// What `params_sha256` is the SHA-256 of: the model's parameters in the order of their
  /// registration, each as its elements in row-major order, little-endian float32; no names, no
  /// shapes, no buffers, nothing in between.
  [[nodiscard]] std::vector<std::byte> parameter_bytes() const;

  /// Where the time of all ranks run so far went.
  struct Spent {
    Seconds swap{0};     ///< putting a rank's context in place and taking it away again
    Seconds staging{0};  ///< copying its gradient to where it is summed
    Seconds compute{0};  ///< data, forward and backward pass
  };
  [[nodiscard]] const Spent& spent() const;

  /// Parameters, buffers, contexts, optimizer slots and step as one block of bytes, always of one
  /// size once the first step is done. Equal states give equal bytes.
  [[nodiscard]] std::vector<std::byte> save() const;
  /// Where which tensor is in a block that `save` gave: parameters and buffers under their names in
  /// the model, a rank's own as "rank.RANK.BUFFER", the optimizer's as "optimizer.PARAMETER.SLOT".
  /// An error for other bytes.
  [[nodiscard]] Result<StateLayout> state_layout(std::span<const std::byte> saved) const;
  /// Takes a saved state over; bytes of another model, version or size are refused and change
  /// nothing.
  Result<void> load(std::span<const std::byte> state);

 private:
  struct Impl;
  explicit Replica(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::easyscale
