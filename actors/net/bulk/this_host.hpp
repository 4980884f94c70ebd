// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <sys/types.h>

#include <cstdint>

namespace troupe {

/// A number for this machine since it was started and for the process numbers that are valid here:
/// processes with the same one can name each other. 0: not to be found out.
[[nodiscard]] std::uint64_t host_token();

/// When a process was started, in clock ticks since the machine was: with its number it says for
/// ever which process is meant.
[[nodiscard]] Result<std::uint64_t> start_time_of(pid_t pid);

}  // namespace troupe
