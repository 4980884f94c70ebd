// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace troupe {

/// Bytes that one owner fills before they become a Slice. 64-byte aligned, not initialised.
struct Buffer {
  std::shared_ptr<std::byte> memory;
  std::size_t size = 0;

  [[nodiscard]] std::span<std::byte> bytes() const { return {memory.get(), size}; }
};

/// Memory for what arrives. Large buffers are kept when their last user lets go and given out
/// again, for fresh pages cost more than the transfer itself; at most `limit` bytes are kept, those
/// that came back last. Safe from any thread; buffers may outlive the pool.
class BufferPool {
 public:
  explicit BufferPool(std::size_t limit = std::size_t{64} << 20);

  /// An empty Buffer (no memory) where the system has none left.
  [[nodiscard]] Buffer get(std::size_t size);

 private:
  struct Shelf;

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace troupe
