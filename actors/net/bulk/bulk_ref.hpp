// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/bulk.capnp.h"
#include "messages/common.capnp.h"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Memory that a process has exposed: what travels in a message instead of the bytes. Whoever has
/// it may read the memory (and write it, where it is writable) until it is withdrawn.
struct BulkRef {
  NodeId node;                ///< whom to ask by messages; no name: nobody
  Address control;            ///< where that node can be called
  std::uint64_t host = 0;     ///< host_token() of the exposing process
  std::uint32_t pid = 0;      ///< of the exposing process
  std::uint64_t started = 0;  ///< start_time_of(pid): no other process that gets the number later
  std::int32_t table = -1;    ///< the process's descriptor of its ExposureTable
  std::uint64_t store = 0;    ///< tells apart the stores of a process
  std::uint32_t slot = 0;
  std::uint64_t key = 0;  ///< cannot be guessed; 0: nothing
  std::uint64_t length = 0;
  bool writable = false;

  friend bool operator==(const BulkRef&, const BulkRef&) = default;
};

void write_bulk_ref(msg::BulkRef::Builder to, const BulkRef& ref);
/// What the message says; the paths that use it check it.
[[nodiscard]] BulkRef read_bulk_ref(msg::BulkRef::Reader from);

/// A part of exposed memory, in bytes.
struct BulkRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  friend bool operator==(const BulkRange&, const BulkRange&) = default;
};

/// The sum of the ranges' lengths. Errors: one reaches beyond `length`, the sum overflows.
[[nodiscard]] Result<std::uint64_t> total_of(std::span<const BulkRange> ranges,
                                             std::uint64_t length);

/// Some ranges that are moved at once.
struct BulkBatch {
  std::vector<BulkRange> ranges;
  std::uint64_t at = 0;     ///< where their bytes begin on the caller's side
  std::uint64_t bytes = 0;  ///< of all ranges
};

struct BatchLimits {
  std::uint64_t bytes = std::uint64_t{8} << 20;  ///< in a batch
  std::size_t ranges = 256;                      ///< in a batch
  std::uint64_t alone = ~std::uint64_t{0};       ///< a range of so many bytes shares no batch
};

/// Cuts ranges into batches, in order; empty ranges are left out.
[[nodiscard]] std::vector<BulkBatch> in_batches(std::span<const BulkRange> ranges,
                                                const BatchLimits& limits);

}  // namespace troupe
