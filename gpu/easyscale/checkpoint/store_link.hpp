// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

// One checkpoint is one folder: files of tensors, and `manifest`, which is written last. A folder
// without a manifest is none.

namespace troupe::easyscale {

constexpr const char* manifest_name = "manifest";

/// A tensor's name and hash.
struct HashedTensor {
  std::string name;
  TensorHash sha256{};

  friend bool operator==(const HashedTensor&, const HashedTensor&) = default;
};

/// The hashes of a saved state's tensors in the state's order, and of its frame.
[[nodiscard]] Result<std::vector<HashedTensor>> hash_tensors(const StateLayout& layout,
                                                             std::span<const std::byte> state);

/// Writes a saved state to a new folder, whose parent is there; a folder that could not be filled
/// is removed again. `about` has what is to be said of the state; its lists and block size are
/// filled in here. Gives the manifest as it was written. Errors: resource_exhausted when the disk
/// is full.
[[nodiscard]] Result<Manifest> write_checkpoint(const std::filesystem::path& folder, Manifest about,
                                                const StateLayout& layout,
                                                std::span<const std::byte> state,
                                                std::uint64_t shard_bytes = 256U << 20U);

/// Reads the manifest and sees whether the files that it lists are there in the right size.
[[nodiscard]] Result<Manifest> open_checkpoint(const std::filesystem::path& folder);

using TakeBytes = std::function<void(std::span<const std::byte>)>;

/// Hands out a tensor's bytes piece by piece; an error, after that, where they are not those that
/// were written.
[[nodiscard]] Result<void> read_tensor(const std::filesystem::path& folder,
                                       const Manifest& manifest, const TensorRecord& tensor,
                                       const TakeBytes& take);

/// Reads all and compares all hashes; the error names the file and the first tensor that is wrong.
[[nodiscard]] Result<void> verify_checkpoint(const std::filesystem::path& folder,
                                             const Manifest& manifest);

/// The saved state, verified.
[[nodiscard]] Result<std::vector<std::byte>> load_checkpoint(const std::filesystem::path& folder,
                                                             const Manifest& manifest);

/// Removes a checkpoint so that, whenever that is interrupted, what is left is none.
Result<void> remove_checkpoint(const std::filesystem::path& folder);

}  // namespace troupe::easyscale
