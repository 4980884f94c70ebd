// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "gpu/easyscale/checkpoint/store_link.hpp"
#include "messages/result.hpp"
#include "messages/slice.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace troupe::easyscale {

/// When to keep what of a job's states.
struct CheckpointPlan {
  std::filesystem::path folder;  ///< of the group; made when the first one is written
  std::uint64_t every = 0;       ///< steps from one to the next, and one at the end; 0: none at all
  std::uint32_t keep = 3;
  /// Steps between those whose tensors' hashes are told; 0: none. After 500 of them twice as many,
  /// and so on, so that a long run keeps a few thousand at most.
  std::uint64_t hash_every = 0;

  /// Whether anything is to be done with the state of `step` of `steps`.
  [[nodiscard]] bool writes(std::uint64_t step, std::uint64_t steps) const;
  [[nodiscard]] bool hashes(std::uint64_t step, std::uint64_t steps) const;
};

struct WroteCheckpoint {
  std::uint64_t step = 0;
  std::filesystem::path folder;
  std::uint64_t bytes = 0;
  std::chrono::duration<double> took{0};
};
struct MissedCheckpoint {  ///< the job goes on without it
  std::uint64_t step = 0;
  Error why;
};
struct HashedState {
  std::uint64_t step = 0;
  std::vector<HashedTensor> tensors;
};
using CheckpointNews = std::variant<WroteCheckpoint, MissedCheckpoint, HashedState>;

/// Writes checkpoints and computes hashes in a thread of its own, from states that nobody changes
/// any more: to hand one over costs the caller nothing but the handing. Owned by one trainer. While
/// one is written, the newest one handed over waits and replaces one that waited before it. Hashing
/// takes at most a fiftieth of the time: after a state that took a second none is hashed for 50 s.
class CheckpointWriter {
 public:
  /// `about` is what is to be said of every state; `news` is called from the writer's thread when
  /// take_news() has something; `patience`: how long another writer to the folder is waited for.
  CheckpointWriter(CheckpointPlan plan, Manifest about, std::function<void()> news,
                   std::chrono::milliseconds patience = std::chrono::seconds(10));
  /// Ends what is under way.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;

  /// Whether `offer` would do something with the state of this step: it has not been offered yet.
  [[nodiscard]] bool wants(std::uint64_t step) const;
  void offer(std::uint64_t step, Slice state, StateLayout layout);
  /// Waits until everything handed over is done.
  void flush();
  [[nodiscard]] std::vector<CheckpointNews> take_news();

 private:
  using Clock = std::chrono::steady_clock;
  struct Job {
    std::uint64_t step = 0;
    Slice state;
    StateLayout layout;
  };

  void run();
  void write(const Job& job);
  void hash(const Job& job);
  Result<std::optional<WroteCheckpoint>> try_to_write(const Job& job);
  void tell(CheckpointNews news);

  const CheckpointPlan plan_;
  const Manifest about_;
  const std::function<void()> news_;
  const std::chrono::milliseconds patience_;
  std::optional<std::uint64_t> offered_;  // the caller's
  Clock::time_point hash_again_;          // the thread's

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Job> to_write_;
  std::optional<Job> to_hash_;
  bool busy_ = false;
  bool stop_ = false;
  std::vector<CheckpointNews> told_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace troupe::easyscale
