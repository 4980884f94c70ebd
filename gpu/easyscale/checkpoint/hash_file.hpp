// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The file `hashes` of a run: text, appended to line by line. The first line is "troupe-hashes 1";
// every other one has a step (how many were done), the group's address, a tensor's name and the
// SHA-256 of its bytes at that time:
//     40 /jobs/digits/trainers conv1.weight 5f78...

namespace troupe::easyscale {

constexpr std::string_view hash_file_head = "troupe-hashes 1";

/// A group's address and a step.
using HashKey = std::pair<std::string, std::uint64_t>;
/// Tensors and hexadecimal hashes, in the state's order.
using StepHashes = std::vector<std::pair<std::string, std::string>>;
using RunHashes = std::map<HashKey, StepHashes>;

[[nodiscard]] std::string hash_line(std::uint64_t step, std::string_view group,
                                    std::string_view tensor, std::string_view sha256);

/// Reads a file of hashes. A last line without an end is not counted: its writer was killed. A step
/// that is there twice (it was done again) counts as it was the last time. Errors name the line.
[[nodiscard]] Result<RunHashes> parse_hashes(std::string_view text);

struct HashDifference {
  std::string group;
  std::uint64_t step = 0;
  std::string tensor;
};

struct HashComparison {
  std::size_t steps = 0;                    ///< that both runs have
  std::optional<std::uint64_t> last_equal;  ///< the last one before the difference; its group's
  std::optional<HashDifference> first;
};

/// The first step that two runs have both sampled and in which a tensor differs, and that tensor.
[[nodiscard]] HashComparison compare_hashes(const RunHashes& a, const RunHashes& b);

}  // namespace troupe::easyscale
