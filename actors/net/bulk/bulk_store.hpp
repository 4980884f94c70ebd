// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_ref.hpp"
#include "actors/net/bulk/exposure_table.hpp"
#include "messages/slice.hpp"
#include "messages/units.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace troupe {

struct RmaRegistration;

/// Memory with whatever keeps it alive; unlike a Slice it may be written.
struct BulkMemory {
  std::shared_ptr<const void> owner;
  std::span<std::byte> bytes;
  bool immutable = false;  ///< never changes, even after it was withdrawn: a Slice
};

/// What this process exposes to others. Keeps the memory alive until it is withdrawn, its lease
/// runs out, or the store goes. Owned by a node; safe from any thread.
class BulkStore {
 public:
  /// For how long an exposure lasts if nobody withdraws or renews it; none: for ever. For memory
  /// that others may forget to ask for.
  using Lease = std::optional<Millis>;

  [[nodiscard]] static Result<std::unique_ptr<BulkStore>> make();
  ~BulkStore();
  BulkStore(const BulkStore&) = delete;

  /// Which node answers for this store's refs; before the first exposure that others need.
  void set_home(const NodeId& node, const Address& control);

  /// Errors: resource_exhausted.
  [[nodiscard]] Result<BulkRef> expose(Slice bytes, Lease lease = {});
  [[nodiscard]] Result<BulkRef> expose_writable(BulkMemory memory, Lease lease = {});
  /// A part of a memory file (make_bulk_file); the store keeps a descriptor of its own. Others on
  /// this machine map it. Errors: invalid_argument where it is no memory file or not that long.
  [[nodiscard]] Result<BulkRef> expose_file(int memory_file, BulkRange range, bool writable,
                                            Lease lease = {});

  /// Ends an exposure: nobody can begin to read or write any more, and who has begun gets an error
  /// instead of bytes that are not what they were. Who was writing may still write until the
  /// memory's owner is released, which waits for that. False: there was none.
  bool withdraw(const BulkRef& ref);
  /// Begins the lease anew. False: too late.
  bool renew(const BulkRef& ref, Lease lease);

  /// The exposed memory, for a request that has come in. Errors: not_found, permission_denied,
  /// invalid_argument.
  [[nodiscard]] Result<BulkMemory> find(std::uint32_t slot, std::uint64_t key, bool write) const;

  /// What is registered for one-sided access to an exposure: kept with it, and gone before its
  /// memory.
  void keep(std::uint32_t slot, std::uint64_t key, std::shared_ptr<const RmaRegistration> what);
  [[nodiscard]] std::shared_ptr<const RmaRegistration> kept(std::uint32_t slot,
                                                            std::uint64_t key) const;

  [[nodiscard]] std::uint64_t id() const { return id_; }
  /// How many exposures there are, withdrawn ones that somebody still writes to included.
  [[nodiscard]] std::size_t size() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Exposure {
    std::uint64_t key = 0;  ///< 0: withdrawn
    BulkMemory memory;
    Fd file;
    bool writable = false;
    std::shared_ptr<const RmaRegistration> registration;  ///< last: it goes first
  };

  BulkStore(std::uint64_t id, ExposureTable table);
  [[nodiscard]] Result<BulkRef> add(Exposure exposure, std::uint64_t file_offset, Lease lease);
  [[nodiscard]] std::optional<std::uint32_t> free_slot();
  void set_lease(std::uint32_t slot, Lease lease);
  /// Gives what must be destroyed after the lock is released.
  [[nodiscard]] Exposure end(std::uint32_t slot);
  [[nodiscard]] std::vector<Exposure> sweep();
  void expire();

  const std::uint64_t id_;
  const std::uint64_t host_;
  std::uint64_t started_ = 0;
  NodeId node_;
  Address control_;

  mutable std::mutex mutex_;
  ExposureTable table_;
  std::map<std::uint32_t, Exposure> exposures_;
  std::vector<std::uint32_t> free_;
  std::uint32_t next_slot_ = 0;
  std::vector<std::uint32_t> written_to_;  ///< withdrawn, but another process still writes
  std::map<std::uint32_t, Clock::time_point> leases_;
  std::condition_variable leases_changed_;
  bool stopping_ = false;
  std::thread expirer_;  ///< begins with the first lease
};

}  // namespace troupe
