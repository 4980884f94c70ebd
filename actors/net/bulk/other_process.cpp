// SPDX-License-Identifier: Apache-2.0
//
// The process is pinned by a pidfd that is opened before its start time is compared: while the
// pidfd says that it lives, its number belongs to it. After each piece that was copied we ask the
// pidfd and the table: a piece that cannot be vouched for ends the job with an error.
#include "actors/net/bulk/other_process.hpp"

#include "actors/net/bulk/process_copy.hpp"
#include "actors/net/bulk/this_host.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t most_mappings = 64;
constexpr auto writer_pause = std::chrono::microseconds(50);
constexpr BatchLimits pieces{std::uint64_t{4} << 20, 256, ~std::uint64_t{0}};

void copy_mapped(const BulkJob& job, const BulkBatch& batch, std::span<std::byte> exposed) {
  std::uint64_t at = batch.at;
  for (const auto& range : batch.ranges) {
    auto* there = exposed.data() + range.offset;
    if (job.write) {
      std::memcpy(there, job.from.data() + at, range.length);
    } else {
      std::memcpy(job.to.data() + at, there, range.length);
    }
    at += range.length;
  }
}

}  // namespace

/// Keeps the exposed memory from being used for anything else while this process writes to it.
class OtherProcess::WriteClaim {
 public:
  WriteClaim(ExposureTable& table, std::uint32_t slot) : table_(table), slot_(slot) {}
  ~WriteClaim() {
    if (held_) table_.end_write(slot_);
  }
  WriteClaim(const WriteClaim&) = delete;

  Result<void> take(std::uint64_t claim, Deadline deadline) {
    while (!(held_ = table_.begin_write(slot_, claim))) {
      if (std::chrono::steady_clock::now() >= deadline) {
        return fail(ErrorCode::timeout, "another process writes to this memory all the time");
      }
      std::this_thread::sleep_for(writer_pause);
    }
    return {};
  }

 private:
  ExposureTable& table_;
  std::uint32_t slot_;
  bool held_ = false;
};

OtherProcess::OtherProcess(const BulkRef& ref, Fd pidfd, ExposureTable table)
    : who_(ref),
      claim_(ExposureTable::claim_of_this_process()),
      pidfd_(std::move(pidfd)),
      table_(std::move(table)) {}

Result<std::shared_ptr<OtherProcess>> OtherProcess::meet(const BulkRef& ref) {
  const auto pid = static_cast<pid_t>(ref.pid);
  if (pid <= 0) return fail(ErrorCode::corrupt, "a process number that is none");
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd && errno != ESRCH) {
    return fail(ErrorCode::permission_denied, "pidfd_open: " + errno_text(errno));
  }
  const auto started = start_time_of(pid);
  if (!pidfd || !started || *started != ref.started) {
    return fail(ErrorCode::unavailable,
                "process " + std::to_string(pid) + " that exposed the memory is gone");
  }
  auto table = ExposureTable::open(ref);
  if (!table) return Failure(table.error());
  return std::shared_ptr<OtherProcess>(new OtherProcess(ref, std::move(pidfd), std::move(*table)));
}

bool OtherProcess::is_alive() const {
  pollfd ended{pidfd_.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

bool OtherProcess::is(const BulkRef& ref) const {
  return ref.pid == who_.pid && ref.started == who_.started && ref.store == who_.store &&
         ref.table == who_.table;
}

Error OtherProcess::gone() const {
  return {ErrorCode::unavailable,
          "process " + std::to_string(who_.pid) + " that exposed the memory is gone"};
}

Result<OtherProcess::Entry> OtherProcess::look_up(const BulkJob& job) const {
  if (!is_alive()) return Failure(gone());
  const auto entry = table_.read(job.ref.slot, job.ref.key);
  if (!entry) {
    return fail(ErrorCode::not_found, "this memory is not exposed, or not any more");
  }
  if (job.write && !entry->writable) {
    return fail(ErrorCode::permission_denied, "this memory is exposed for reading only");
  }
  if (auto ok = total_of(job.ranges, entry->length); !ok) return Failure(ok.error());
  return *entry;
}

Result<BulkPath> OtherProcess::choose(const Entry& entry, std::optional<BulkPath> only) const {
  const auto path = only.value_or(entry.file >= 0 ? BulkPath::file : BulkPath::cma);
  if (path == BulkPath::file && entry.file < 0) {
    return fail(ErrorCode::invalid_argument, "this memory is in no memory file");
  }
  return path;
}

Result<BulkPath> OtherProcess::carry_out(const BulkJob& job, std::optional<BulkPath> only) {
  auto entry = look_up(job);
  if (!entry) return Failure(entry.error());
  WriteClaim claim(table_, job.ref.slot);
  if (job.write) {
    if (auto ok = claim.take(claim_, job.deadline); !ok) return Failure(ok.error());
    entry = look_up(job);  // it may have ended before our claim was seen
    if (!entry) return Failure(entry.error());
  }
  auto path = choose(*entry, only);
  if (!path) return path;
  if (auto ok = copy(job, *entry, *path); !ok) return Failure(ok.error());
  return path;
}

Result<void> OtherProcess::copy(const BulkJob& job, const Entry& entry, BulkPath path) {
  std::shared_ptr<const Mapping> mapping;
  if (path == BulkPath::file && job.bytes() > 0) {
    auto mapped = map(job, entry);
    if (!mapped) return Failure(mapped.error());
    mapping = *mapped;
  }
  for (const auto& batch : in_batches(job.ranges, pieces)) {
    const auto held = job.credits.take(batch.bytes, job.deadline);
    if (!held) return Failure(held.error());
    if (mapping) {
      copy_mapped(job, batch, mapping->bytes());
    } else if (auto ok = copy_by_kernel(static_cast<pid_t>(who_.pid), entry.address, job, batch);
               !ok) {
      if (auto better = check(job, entry); !better) return better;  // why it failed
      return ok;
    }
    if (auto ok = check(job, entry); !ok) return ok;
  }
  return check(job, entry);
}

Result<void> OtherProcess::check(const BulkJob& job, const Entry& entry) const {
  if (!is_alive()) return Failure(gone());
  if (!table_.still(job.ref.slot, entry.version)) {
    return fail(ErrorCode::aborted, "the memory was withdrawn while it was being copied");
  }
  if (std::chrono::steady_clock::now() >= job.deadline) {
    return fail(ErrorCode::timeout, "copying exposed memory took too long");
  }
  return {};
}

Result<std::shared_ptr<const Mapping>> OtherProcess::map(const BulkJob& job, const Entry& entry) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(mapped_.begin(), mapped_.end(), [&](const Mapped& mapped) {
    return mapped.key == job.ref.key && (mapped.writable || !job.write);
  });
  if (known != mapped_.end()) {
    mapped_.splice(mapped_.begin(), mapped_, known);
    return known->mapping;
  }
  const auto path = "/proc/" + std::to_string(who_.pid) + "/fd/" + std::to_string(entry.file);
  Fd file(::open(path.c_str(), (job.write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    return fail(is_alive() ? ErrorCode::permission_denied : ErrorCode::unavailable,
                path + ": " + errno_text(errno));
  }
  auto mapping = Mapping::of(file.get(), entry.file_offset, entry.length, job.write);
  if (!mapping) return Failure(mapping.error());
  // The descriptor was the exposed file only if the exposure is still there.
  if (auto ok = check(job, entry); !ok) return Failure(ok.error());
  std::erase_if(mapped_, [&](const Mapped& mapped) { return mapped.key == job.ref.key; });
  mapped_.push_front(
      {job.ref.key, job.write, std::make_shared<const Mapping>(std::move(*mapping))});
  if (mapped_.size() > most_mappings) mapped_.pop_back();
  return mapped_.front().mapping;
}

}  // namespace troupe
