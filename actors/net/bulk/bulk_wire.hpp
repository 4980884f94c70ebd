// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_ref.hpp"
#include "actors/net/bulk/rma_worker.hpp"
#include "messages/slice.hpp"

namespace troupe {

/// What a bulk_request asks for, in ranges of one exposure.
struct BulkRequest {
  std::uint32_t slot = 0;
  std::uint64_t key = 0;
  bool write = false;
  bool grant = false;  ///< asks for a RmaGrant
  BulkBatch batch;     ///< `at` is 0
};

/// A request of more ranges or bytes is refused before anything is done for it.
constexpr std::size_t most_ranges_asked = 1024;
constexpr std::uint64_t most_bytes_asked = std::uint64_t{16} << 20;

[[nodiscard]] Slice write_request(const BulkRef& ref, bool write, const BulkBatch& batch);
[[nodiscard]] Slice write_grant_request(const BulkRef& ref);
/// Errors: corrupt (no such message), invalid_argument (too much).
[[nodiscard]] Result<BulkRequest> read_request(std::span<const std::byte> body);

[[nodiscard]] Slice write_grant(const RmaGrant& grant);
[[nodiscard]] Result<RmaGrant> read_grant(const Slice& blob);

[[nodiscard]] Slice write_answer(const Result<Slice>& answer);
/// The error that the answer tells of, or corrupt.
[[nodiscard]] Result<void> read_answer(std::span<const std::byte> body);

}  // namespace troupe
