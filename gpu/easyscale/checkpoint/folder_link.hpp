// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// The folder of a group's checkpoints: step-000000000040, step-000000000080, ... One that was
// written again beside a damaged one of its step is step-000000000040.1.

namespace troupe::easyscale {

struct ListedCheckpoint {
  std::filesystem::path folder;
  std::uint64_t step = 0;
  std::uint32_t copy = 0;
  /// None: no manifest yet, or none that can be read; `why` says so.
  std::optional<Manifest> manifest;
  Error why;
};

/// All that look like checkpoints, oldest step first. Manifests are read and sizes compared; hashes
/// are not computed. A folder that is not there has none.
[[nodiscard]] Result<std::vector<ListedCheckpoint>> list_checkpoints(
    const std::filesystem::path& folder);

struct FoundCheckpoint {
  std::filesystem::path folder;
  Manifest manifest;
  std::vector<Error> refused;  ///< why newer ones were passed over
};

/// The newest that verifies, hash by hash; `folder` may also be a checkpoint itself. With `job`,
/// those of other jobs are passed over like damaged ones. Errors: not_found where there is none; it
/// says why each was refused.
[[nodiscard]] Result<FoundCheckpoint> latest_checkpoint(const std::filesystem::path& folder,
                                                        const JobIdentity* job = nullptr);

/// Who writes to a group's folder: one at a time.
class CheckpointFolder {
 public:
  /// Makes the folder, and waits for another writer to end. Errors: unavailable where it does not.
  static Result<CheckpointFolder> lock(const std::filesystem::path& folder,
                                       std::chrono::milliseconds patience);

  /// Where the checkpoint of a step is to be written: none where a good one of that very state, as
  /// `is_it` says of its manifest, is there already. Removes what writers that were killed have
  /// left.
  Result<std::optional<std::filesystem::path>> place_for(
      std::uint64_t step, const std::function<bool(const Manifest&)>& is_it);

  /// Removes all but the newest `keep` (at least one) of those up to `step`, which was just
  /// written. Those of later steps, and those that cannot be read, are not touched.
  Result<void> retain(std::uint32_t keep, std::uint64_t step);

 private:
  CheckpointFolder(std::filesystem::path folder, Fd lock)
      : folder_(std::move(folder)), lock_(std::move(lock)) {}

  std::filesystem::path folder_;
  Fd lock_;
};

}  // namespace troupe::easyscale
