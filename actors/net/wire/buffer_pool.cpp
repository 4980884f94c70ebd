// SPDX-License-Identifier: Apache-2.0
#include "actors/net/wire/buffer_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <utility>
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

/// What lies ready, by capacity (powers of two). Where it is full, what has lain there longest
/// makes room: what comes back is what is used now.
struct BufferPool::Shelf {
  explicit Shelf(std::size_t most) : limit(most) {}
  ~Shelf() {
    for (auto& [capacity, buffers] : free) {
      for (const auto& [since, buffer] : buffers) std::free(buffer);
    }
  }

  std::byte* take(std::size_t capacity) {
    const std::lock_guard lock(mutex);
    const auto it = free.find(capacity);
    if (it == free.end()) return nullptr;
    auto* buffer = it->second.back().second;
    it->second.pop_back();
    if (it->second.empty()) free.erase(it);
    kept -= capacity;
    return buffer;
  }
  void put(std::byte* buffer, std::size_t capacity) {
    if (capacity > limit) return std::free(buffer);
    std::vector<std::byte*> oldest;
    {
      const std::lock_guard lock(mutex);
      while (kept + capacity > limit) oldest.push_back(take_oldest());
      free[capacity].emplace_back(++puts, buffer);
      kept += capacity;
    }
    for (auto* other : oldest) std::free(other);
  }

 private:
  std::byte* take_oldest() {
    const auto oldest =
        std::min_element(free.begin(), free.end(), [](const auto& a, const auto& b) {
          return a.second.front().first < b.second.front().first;
        });
    auto* buffer = oldest->second.front().second;
    oldest->second.pop_front();
    kept -= oldest->first;
    if (oldest->second.empty()) free.erase(oldest);
    return buffer;
  }

  std::mutex mutex;
  std::size_t limit;
  std::size_t kept = 0;
  std::uint64_t puts = 0;
  /// By capacity, those that came back last behind; none is empty.
  std::map<std::size_t, std::deque<std::pair<std::uint64_t, std::byte*>>> free;
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
