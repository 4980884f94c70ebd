// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_job.hpp"

#include <sys/types.h>

namespace troupe {

/// Copies one batch between this process and another by process_vm_readv or process_vm_writev;
/// `address`: of the exposed memory there. Errors: permission_denied where the kernel does not
/// allow it, unavailable where the process or the memory is gone.
[[nodiscard]] Result<void> copy_by_kernel(pid_t pid, std::uint64_t address, const BulkJob& job,
                                          const BulkBatch& batch);

}  // namespace troupe
