// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/boot_clock.hpp"
#include "actors/core/lease.hpp"

#include <filesystem>
#include <functional>
#include <memory>

namespace troupe {

/// By which clock leases end: this machine's, and which of its starts that counts from.
struct StoreClock {
  std::string boot;
  std::function<BootClock::time_point()> now;
};

/// A store in one file, for the processes of one machine: the default, where there is one control
/// node. Leases end by the machine's clock since its start, so no change of the date ends or
/// prolongs one, and none survives a restart of the machine: those who held them did not either.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path);
/// The same by a clock of the caller's.
[[nodiscard]] Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path,
                                                               StoreClock clock);

}  // namespace troupe
