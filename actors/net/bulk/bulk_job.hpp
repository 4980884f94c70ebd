// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_ref.hpp"
#include "actors/net/bulk/byte_credits.hpp"
#include "messages/slice.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace troupe {

/// How bytes went.
enum class BulkPath : std::uint8_t {
  memory,   ///< within this process: copied
  file,     ///< the same host: copied from or to a mapping of the exposer's memory file
  cma,      ///< the same host: the kernel copied from one process to the other
  rma,      ///< one-sided through UCX: RDMA
  message,  ///< asked of the exposing node by messages
};
constexpr std::size_t bulk_path_count = 5;

/// "memory", "memfd", "cma", "rma", "message".
[[nodiscard]] std::string_view name_of(BulkPath path);

struct BulkDone {
  BulkPath path = BulkPath::memory;
  std::uint64_t bytes = 0;
};

/// One pull or push, for the paths to carry out. The ranges have been checked against the ref's
/// length, and their bytes are as many as there are at `to` or in `from`.
struct BulkJob {
  const BulkRef& ref;
  std::span<const BulkRange> ranges;
  std::span<std::byte> to;  ///< of a pull
  Slice from;               ///< of a push
  bool write = false;
  Deadline deadline;
  ByteCredits& credits;  ///< of the peer

  [[nodiscard]] std::uint64_t bytes() const { return write ? from.size() : to.size(); }
};

}  // namespace troupe
