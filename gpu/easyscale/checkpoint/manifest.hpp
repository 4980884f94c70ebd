// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/state_layout.hpp"
#include "messages/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::easyscale {

/// SHA-256. Of the hashes at hand it is the one that parameters are reported by, and one that
/// nobody can forge: a checkpoint may have been carried from machine to machine. A background
/// thread computes it, so that its speed (some hundred MB/s) costs no training time.
using TensorHash = std::array<std::byte, 32>;

/// A tensor of a checkpoint: which file it is in, where it goes in the saved state, its hash.
struct TensorRecord {
  TensorInfo info;
  std::uint64_t offset = 0;  ///< in the saved state; no meaning for the frame
  std::uint32_t file = 0;    ///< number in `files`
  TensorHash sha256{};

  friend bool operator==(const TensorRecord&, const TensorRecord&) = default;
};

/// What the saved state has between its tensors is kept as one tensor of bytes under this name.
constexpr const char* frame_tensor = "state.frame";

struct FileRecord {
  std::string name;
  std::uint64_t size = 0;

  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

/// A virtual rank's context at the start of the step: its samples follow from seed, step and rank,
/// and so does its generator's seed, by which a program that draws other numbers is recognised.
struct RankRecord {
  std::uint32_t rank = 0;
  std::uint64_t generator_seed = 0;

  friend bool operator==(const RankRecord&, const RankRecord&) = default;
};

/// What a job must have in common with a checkpoint that it goes on from.
struct JobIdentity {
  std::string job;
  std::string group;    ///< path of the trainers below the job
  std::string program;  ///< the TrainProgram
  std::uint64_t seed = 0;
  std::uint32_t ranks = 0;
  std::uint32_t batch = 0;
  std::string
      settings;  ///< other keys of the graph that change bits, where they are not the default

  friend bool operator==(const JobIdentity&, const JobIdentity&) = default;
};

/// The table of contents of a checkpoint; a value.
struct Manifest {
  JobIdentity identity;
  std::uint64_t step = 0;  ///< optimizer steps that made the state
  std::uint64_t steps_per_epoch = 0;
  std::uint64_t steps = 0;  ///< of the whole job
  std::string optimizer;
  std::string fingerprint;  ///< libraries and CPU features that change bits
  std::string version;      ///< of the program that wrote it
  std::uint64_t block_size = 0;
  std::vector<FileRecord> files;
  std::vector<TensorRecord> tensors;  ///< in the order of the saved state; the frame last
  std::vector<RankRecord> rank_records;

  [[nodiscard]] std::uint64_t epoch() const {
    return steps_per_epoch == 0 ? 0 : step / steps_per_epoch;
  }
  [[nodiscard]] const TensorRecord* find(const std::string& name) const;
};

/// What a manifest that was read must satisfy before anything is allocated by it: names that are
/// names (and no paths), tensors that fill the saved state exactly, files that are there.
[[nodiscard]] Result<void> check(const Manifest& manifest);

/// Why a job cannot go on from a checkpoint with bits as if it had never stopped; none where it
/// can.
[[nodiscard]] Result<void> check_same_job(const JobIdentity& job, const JobIdentity& checkpoint);

/// A range of the saved state.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// What is between the tensors, in order; an error where they overlap or lie outside.
[[nodiscard]] Result<std::vector<Range>> gaps_of(const std::vector<StateTensor>& tensors,
                                                 std::uint64_t block_size);

/// The number of the file that each tensor goes to: files of about `shard_bytes`, a larger tensor
/// alone.
[[nodiscard]] std::vector<std::uint32_t> plan_shards(std::span<const std::uint64_t> sizes,
                                                     std::uint64_t shard_bytes);

/// "tensors-00000-of-00002.safetensors"
[[nodiscard]] std::string shard_name(std::uint32_t number, std::uint32_t count);

}  // namespace troupe::easyscale
