// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "actors/net/bulk/bulk_job.hpp"
#include "actors/net/bulk/exposure_table.hpp"

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

namespace troupe {

/// Another process of this host whose exposed memory this one reads and writes by itself. It is
/// believed only while it lives: what was copied counts if the process was there all the time and
/// the exposure has not changed. Kept by a BulkReader; safe from any thread.
class OtherProcess {
 public:
  /// Errors: permission_denied (ask it by messages then), unavailable (it is dead), corrupt.
  [[nodiscard]] static Result<std::shared_ptr<OtherProcess>> meet(const BulkRef& ref);

  /// `only`: nothing but this path. Errors: those of meet(); not_found, invalid_argument, timeout,
  /// aborted where the exposure ended meanwhile.
  [[nodiscard]] Result<BulkPath> carry_out(const BulkJob& job, std::optional<BulkPath> only);

  [[nodiscard]] bool is_alive() const;
  [[nodiscard]] bool is(const BulkRef& ref) const;

 private:
  using Entry = ExposureTable::Entry;
  class WriteClaim;
  struct Mapped {
    std::uint64_t key;
    bool writable;
    std::shared_ptr<const Mapping> mapping;
  };

  OtherProcess(const BulkRef& ref, Fd pidfd, ExposureTable table);
  [[nodiscard]] Result<Entry> look_up(const BulkJob& job) const;
  [[nodiscard]] Result<BulkPath> choose(const Entry& entry, std::optional<BulkPath> only) const;
  [[nodiscard]] Result<void> copy(const BulkJob& job, const Entry& entry, BulkPath path);
  [[nodiscard]] Result<void> check(const BulkJob& job, const Entry& entry) const;
  [[nodiscard]] Result<std::shared_ptr<const Mapping>> map(const BulkJob& job, const Entry& entry);
  [[nodiscard]] Error gone() const;

  const BulkRef who_;
  const std::uint64_t claim_;
  Fd pidfd_;
  ExposureTable table_;
  std::mutex mutex_;
  std::list<Mapped> mapped_;  ///< the latest used first
};

}  // namespace troupe
