// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/buffer_pool.hpp"

#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace troupe {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t worth_keeping = 64 << 10;

std::byte* allocate(std::size_t size) {
  const auto rounded = (std::max<std::size_t>(size, 1) + alignment - 1) / alignment * alignment;
  return static_cast<std::byte*>(std::aligned_alloc(alignment, rounded));
}

}  // namespace

/// What lies ready, by capacity (powers of two).
struct BufferPool::Shelf {
  explicit Shelf(std::size_t most) : limit(most) {}
  ~Shelf() {
    for (auto& [capacity, buffers] : free) {
      for (auto* buffer : buffers) std::free(buffer);
    }
  }

  std::byte* take(std::size_t capacity) {
    const std::lock_guard lock(mutex);
    const auto it = free.find(capacity);
    if (it == free.end() || it->second.empty()) return nullptr;
    auto* buffer = it->second.back();
    it->second.pop_back();
    kept -= capacity;
    return buffer;
  }
  void put(std::byte* buffer, std::size_t capacity) {
    {
      const std::lock_guard lock(mutex);
      if (kept + capacity <= limit) {
        free[capacity].push_back(buffer);
        kept += capacity;
        return;
      }
    }
    std::free(buffer);
  }

  std::mutex mutex;
  std::size_t limit;
  std::size_t kept = 0;
  std::map<std::size_t, std::vector<std::byte*>> free;
};

BufferPool::BufferPool(std::size_t limit) : shelf_(std::make_shared<Shelf>(limit)) {}

Buffer BufferPool::get(std::size_t size) {
  if (size < worth_keeping) {
    auto* memory = allocate(size);
    if (memory == nullptr) return {};
    return {{memory, [](std::byte* p) { std::free(p); }}, size};
  }
  const auto capacity = std::bit_ceil(size);
  auto* memory = shelf_->take(capacity);
  if (memory == nullptr) memory = allocate(capacity);
  if (memory == nullptr) return {};
  return {{memory, [shelf = shelf_, capacity](std::byte* p) { shelf->put(p, capacity); }}, size};
}

}  // namespace troupe
