// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_job.hpp"
#include "actors/net/bulk/bulk_messages.hpp"
#include "actors/net/bulk/bulk_store.hpp"
#include "actors/net/bulk/other_process.hpp"
#include "actors/net/bulk/work_queue.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace troupe {

struct BulkOptions {
  Millis timeout{30000};
  std::optional<BulkPath> only;  ///< this path and no other; otherwise the fastest that works
};

/// What went over each path so far.
struct BulkCounters {
  struct Path {
    std::uint64_t transfers = 0;
    std::uint64_t bytes = 0;
  };
  std::array<Path, bulk_path_count> paths;
  std::uint64_t failed = 0;

  [[nodiscard]] const Path& of(BulkPath path) const {
    return paths[static_cast<std::size_t>(path)];
  }
};

/// Reads and writes what others expose, over the fastest path there is: within the process, by
/// mapping or copying on the same host, otherwise by messages. Calls block; they may come from any
/// thread, except the transport's own. The bytes on their way to and from a peer are bounded: more
/// calls wait. Owned by a node.
class BulkReader {
 public:
  using Callback = std::function<void(Result<BulkDone>)>;
  static constexpr std::uint64_t credit_bytes = std::uint64_t{64} << 20;  ///< per peer

  BulkReader(const BulkStore& own, BulkMessages& messages, std::uint64_t credit = credit_bytes);
  BulkReader(const BulkReader&) = delete;

  /// Copies the ranges, one after the other, to `to`, which must be as long as all of them. After
  /// an error the bytes at `to` mean nothing. Errors: invalid_argument, not_found (not exposed, or
  /// not any more), unavailable (the exposer is dead or cannot be reached), aborted, timeout.
  [[nodiscard]] Result<BulkDone> pull(const BulkRef& ref, std::span<const BulkRange> ranges,
                                      std::span<std::byte> to, const BulkOptions& options = {});
  /// The other way, into memory that was exposed as writable. After an error any part of it may
  /// have been written. Errors: also permission_denied (exposed for reading only).
  [[nodiscard]] Result<BulkDone> push(const BulkRef& ref, std::span<const BulkRange> ranges,
                                      Slice from, const BulkOptions& options = {});
  /// The whole exposure in memory of its own.
  [[nodiscard]] Result<Slice> fetch(const BulkRef& ref, const BulkOptions& options = {});

  /// The same without waiting, on threads of the reader's own; `to.owner` is kept until it is done.
  /// The callback runs on one of them.
  void pull_later(BulkRef ref, std::vector<BulkRange> ranges, BulkMemory to, Callback done,
                  BulkOptions options = {});
  [[nodiscard]] std::future<Result<BulkDone>> pull_later(BulkRef ref, std::vector<BulkRange> ranges,
                                                         BulkMemory to, BulkOptions options = {});
  void push_later(BulkRef ref, std::vector<BulkRange> ranges, Slice from, Callback done,
                  BulkOptions options = {});
  [[nodiscard]] std::future<Result<BulkDone>> push_later(BulkRef ref, std::vector<BulkRange> ranges,
                                                         Slice from, BulkOptions options = {});

  [[nodiscard]] BulkCounters counters() const;

 private:
  struct Peer {
    explicit Peer(std::uint64_t credit) : credits(credit) {}
    ByteCredits credits;
    std::mutex mutex;
    std::shared_ptr<OtherProcess> process;  ///< once it was met
    std::atomic<bool> two_sided{false};     ///< it grants no one-sided reads
    std::atomic<bool> closed{false};        ///< it may not be read directly: ask it by messages
  };

  [[nodiscard]] std::shared_ptr<Peer> peer_of(const BulkRef& ref);
  [[nodiscard]] Result<BulkPath> carry_out(const BulkJob& job, Peer& peer,
                                           const BulkOptions& options);
  [[nodiscard]] Result<BulkPath> within_process(const BulkJob& job) const;
  [[nodiscard]] Result<BulkPath> on_this_host(const BulkJob& job, Peer& peer,
                                              std::optional<BulkPath> only);
  [[nodiscard]] Result<BulkPath> through_network(const BulkJob& job, Peer& peer,
                                                 std::optional<BulkPath> only);
  [[nodiscard]] Result<BulkDone> count(Result<BulkPath> path, std::uint64_t bytes);
  [[nodiscard]] bool is_near(const BulkRef& ref, const Peer& peer) const;

  const BulkStore& own_;
  BulkMessages& messages_;
  const std::uint64_t credit_;
  const std::uint64_t host_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Peer>> peers_;  ///< by store
  struct Count {
    std::atomic<std::uint64_t> transfers{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  std::array<Count, bulk_path_count> counts_;
  std::atomic<std::uint64_t> failed_{0};
  WorkQueue later_;  ///< last: its threads use the rest
};

}  // namespace troupe
