// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk_ref.hpp"

#include "messages/wire_ids.hpp"

#include <algorithm>
#include <string>

namespace troupe {

void write_bulk_ref(msg::BulkRef::Builder to, const BulkRef& ref) {
  write_node(to.initNode(), ref.node);
  write_address(to.initControl(), ref.control);
  to.setHost(ref.host);
  to.setPid(ref.pid);
  to.setStarted(ref.started);
  to.setTable(ref.table);
  to.setStore(ref.store);
  to.setSlot(ref.slot);
  to.setKey(ref.key);
  to.setLength(ref.length);
  to.setWritable(ref.writable);
}

BulkRef read_bulk_ref(msg::BulkRef::Reader from) {
  BulkRef ref;
  ref.node = read_node(from.getNode());
  ref.control = read_address(from.getControl());
  ref.host = from.getHost();
  ref.pid = from.getPid();
  ref.started = from.getStarted();
  ref.table = from.getTable();
  ref.store = from.getStore();
  ref.slot = from.getSlot();
  ref.key = from.getKey();
  ref.length = from.getLength();
  ref.writable = from.getWritable();
  return ref;
}

Result<std::uint64_t> total_of(std::span<const BulkRange> ranges, std::uint64_t length) {
  std::uint64_t total = 0;
  for (const auto& range : ranges) {
    if (range.offset > length || range.length > length - range.offset) {
      return fail(ErrorCode::invalid_argument,
                  std::to_string(range.length) + " bytes at " + std::to_string(range.offset) +
                      " reach beyond the " + std::to_string(length) + " that are exposed");
    }
    if (__builtin_add_overflow(total, range.length, &total)) {
      return fail(ErrorCode::invalid_argument, "ranges of more bytes than a number can say");
    }
  }
  return total;
}

std::vector<BulkBatch> in_batches(std::span<const BulkRange> ranges, const BatchLimits& limits) {
  std::vector<BulkBatch> batches;
  std::uint64_t at = 0;
  bool open = false;  // the last batch may take more
  for (const auto& whole : ranges) {
    std::uint64_t done = 0;
    while (done < whole.length) {
      const auto left = whole.length - done;
      const bool alone = left >= limits.alone;
      if (!open || alone || batches.back().ranges.size() >= limits.ranges ||
          batches.back().bytes >= limits.bytes) {
        batches.push_back({{}, at, 0});
      }
      auto& batch = batches.back();
      const auto length = std::min(left, limits.bytes - batch.bytes);
      batch.ranges.push_back({whole.offset + done, length});
      batch.bytes += length;
      at += length;
      done += length;
      open = !alone;
    }
  }
  return batches;
}

}  // namespace troupe
