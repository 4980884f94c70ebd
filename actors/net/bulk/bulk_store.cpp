// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk_store.hpp"

#include "actors/net/bulk/this_host.hpp"
#include "actors/net/crypto.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace troupe {

Result<std::unique_ptr<BulkStore>> BulkStore::make() {
  const auto id = random_number();
  auto table = ExposureTable::create(id);
  if (!table) return Failure(table.error());
  return std::unique_ptr<BulkStore>(new BulkStore(id, std::move(*table)));
}

BulkStore::BulkStore(std::uint64_t id, ExposureTable table)
    : id_(id),
      host_(host_token()),
      started_(start_time_of(::getpid()).value_or(0)),
      table_(std::move(table)) {}

BulkStore::~BulkStore() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [slot, exposure] : exposures_) {
      table_.retract(slot);
      // Another process is writing there at this moment: memory that nobody uses again, rather than
      // somebody else's bytes in memory that has become something else.
      if (table_.is_written_to(slot)) (void)new BulkMemory(std::move(exposure.memory));
    }
  }
  leases_changed_.notify_all();
  if (expirer_.joinable()) expirer_.join();
}

void BulkStore::set_home(const NodeId& node, const Address& control) {
  const std::lock_guard lock(mutex_);
  node_ = node;
  control_ = control;
}

Result<BulkRef> BulkStore::expose(Slice bytes, Lease lease) {
  Exposure exposure;
  // Never written: the exposure says so, and every path to it asks.
  auto* data = const_cast<std::byte*>(bytes.data());
  exposure.memory = {std::make_shared<const Slice>(bytes), {data, bytes.size()}, true};
  return add(std::move(exposure), 0, lease);
}

Result<BulkRef> BulkStore::expose_writable(BulkMemory memory, Lease lease) {
  Exposure exposure;
  exposure.memory = std::move(memory);
  exposure.writable = true;
  return add(std::move(exposure), 0, lease);
}

Result<BulkRef> BulkStore::expose_file(int memory_file, BulkRange range, bool writable,
                                       Lease lease) {
  if (auto ok = forbid_shrinking(memory_file); !ok) return Failure(ok.error());
  Exposure exposure;
  exposure.file = Fd(::fcntl(memory_file, F_DUPFD_CLOEXEC, 0));
  if (!exposure.file) return fail(ErrorCode::resource_exhausted, errno_text(errno));
  auto mapping = Mapping::of(memory_file, range.offset, range.length, writable);
  if (!mapping) return fail(ErrorCode::invalid_argument, mapping.error().what);
  const auto bytes = mapping->bytes();
  exposure.memory = {std::make_shared<const Mapping>(std::move(*mapping)), bytes, false};
  exposure.writable = writable;
  return add(std::move(exposure), range.offset, lease);
}

std::optional<std::uint32_t> BulkStore::free_slot() {
  if (!free_.empty()) {
    const auto slot = free_.back();
    free_.pop_back();
    return slot;
  }
  if (next_slot_ == ExposureTable::slot_count) return std::nullopt;
  return next_slot_++;
}

Result<BulkRef> BulkStore::add(Exposure exposure, std::uint64_t file_offset, Lease lease) {
  std::vector<Exposure> ended;
  const std::lock_guard lock(mutex_);
  ended = sweep();
  const auto slot = free_slot();
  if (!slot) {
    return fail(ErrorCode::resource_exhausted,
                std::to_string(exposures_.size()) + " exposures, no more are possible");
  }
  exposure.key = random_number() | 1U;
  const auto& bytes = exposure.memory.bytes;
  BulkRef ref{node_,
              control_,
              host_,
              static_cast<std::uint32_t>(::getpid()),
              started_,
              table_.fd(),
              id_,
              *slot,
              exposure.key,
              bytes.size(),
              exposure.writable};
  table_.publish(*slot, exposure.key,
                 {0, reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size(), file_offset,
                  exposure.file.get(), exposure.writable});
  exposures_[*slot] = std::move(exposure);
  if (lease) set_lease(*slot, lease);
  return ref;
}

bool BulkStore::withdraw(const BulkRef& ref) {
  Exposure ended;  // destroyed after the lock: what owns the memory may call us
  std::vector<Exposure> more;
  const std::lock_guard lock(mutex_);
  more = sweep();
  const auto it = exposures_.find(ref.slot);
  if (ref.store != id_ || ref.key == 0 || it == exposures_.end() || it->second.key != ref.key) {
    return false;
  }
  ended = end(ref.slot);
  return true;
}

BulkStore::Exposure BulkStore::end(std::uint32_t slot) {
  table_.retract(slot);
  leases_.erase(slot);
  const auto it = exposures_.find(slot);
  it->second.key = 0;
  if (it->second.writable && table_.is_written_to(slot)) {
    written_to_.push_back(slot);
    return {};
  }
  auto ended = std::move(it->second);
  exposures_.erase(it);
  free_.push_back(slot);
  return ended;
}

std::vector<BulkStore::Exposure> BulkStore::sweep() {
  std::vector<Exposure> ended;
  for (const auto slot : std::exchange(written_to_, {})) ended.push_back(end(slot));
  return ended;
}

bool BulkStore::renew(const BulkRef& ref, Lease lease) {
  const std::lock_guard lock(mutex_);
  const auto it = exposures_.find(ref.slot);
  if (ref.store != id_ || ref.key == 0 || it == exposures_.end() || it->second.key != ref.key) {
    return false;
  }
  set_lease(ref.slot, lease);
  return true;
}

void BulkStore::set_lease(std::uint32_t slot, Lease lease) {
  if (!lease) {
    leases_.erase(slot);
    return;
  }
  leases_[slot] = Clock::now() + *lease;
  if (!expirer_.joinable()) expirer_ = std::thread([this] { expire(); });
  leases_changed_.notify_all();
}

void BulkStore::expire() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (leases_.empty()) {
      leases_changed_.wait(lock);
      continue;
    }
    const auto next = std::min_element(leases_.begin(), leases_.end(),
                                       [](auto& a, auto& b) { return a.second < b.second; });
    if (Clock::now() < next->second) {
      leases_changed_.wait_until(lock, Clock::time_point(next->second));
      continue;
    }
    auto ended = end(next->first);
    lock.unlock();
    ended = {};
    lock.lock();
  }
}

Result<BulkMemory> BulkStore::find(std::uint32_t slot, std::uint64_t key, bool write) const {
  const std::lock_guard lock(mutex_);
  const auto it = exposures_.find(slot);
  if (key == 0 || it == exposures_.end() || it->second.key != key) {
    return fail(ErrorCode::not_found, "this memory is not exposed, or not any more");
  }
  if (write && !it->second.writable) {
    return fail(ErrorCode::permission_denied, "this memory is exposed for reading only");
  }
  return it->second.memory;
}

void BulkStore::keep(std::uint32_t slot, std::uint64_t key,
                     std::shared_ptr<const RmaRegistration> what) {
  const std::lock_guard lock(mutex_);
  const auto it = exposures_.find(slot);
  if (it != exposures_.end() && it->second.key == key) it->second.registration = std::move(what);
}

std::shared_ptr<const RmaRegistration> BulkStore::kept(std::uint32_t slot,
                                                       std::uint64_t key) const {
  const std::lock_guard lock(mutex_);
  const auto it = exposures_.find(slot);
  return it != exposures_.end() && it->second.key == key ? it->second.registration : nullptr;
}

std::size_t BulkStore::size() const {
  const std::lock_guard lock(mutex_);
  return exposures_.size();
}

}  // namespace troupe
