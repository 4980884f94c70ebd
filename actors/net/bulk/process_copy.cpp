// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/process_copy.hpp"

#include "actors/base/fd.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace troupe {
namespace {

Failure refused(int error) {
  const bool forbidden = error == EPERM || error == EACCES || error == ENOSYS;
  return fail(forbidden ? ErrorCode::permission_denied : ErrorCode::unavailable,
              "copying from or to another process: " + errno_text(error));
}

// What is left of `ranges` behind their first `done` bytes.
std::vector<iovec> rest_of(const BulkBatch& batch, std::uint64_t address, std::uint64_t done) {
  std::vector<iovec> rest;
  rest.reserve(batch.ranges.size());
  for (const auto& range : batch.ranges) {
    const auto skipped = std::min(done, range.length);
    done -= skipped;
    if (skipped == range.length) continue;
    rest.push_back({reinterpret_cast<void*>(address + range.offset + skipped),
                    static_cast<std::size_t>(range.length - skipped)});
  }
  return rest;
}

}  // namespace

Result<void> copy_by_kernel(pid_t pid, std::uint64_t address, const BulkJob& job,
                            const BulkBatch& batch) {
  auto* here = job.write ? const_cast<std::byte*>(job.from.data()) : job.to.data();
  std::uint64_t done = 0;
  while (done < batch.bytes) {
    const auto there = rest_of(batch, address, done);
    const iovec own{here + batch.at + done, static_cast<std::size_t>(batch.bytes - done)};
    const auto moved = job.write ? ::process_vm_writev(pid, &own, 1, there.data(), there.size(), 0)
                                 : ::process_vm_readv(pid, &own, 1, there.data(), there.size(), 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return refused(moved < 0 ? errno : EFAULT);
    done += static_cast<std::uint64_t>(moved);
  }
  return {};
}

}  // namespace troupe
