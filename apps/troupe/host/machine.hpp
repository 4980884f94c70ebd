// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/supervise/placement.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

namespace troupe {

/// What this machine has for actors: the processors that this process may use, the memory that the
/// kernel manages, the GPUs that have a device file (/dev/nvidia0, ...).
[[nodiscard]] Resources machine_resources();

/// The address of this machine from which packets to that one are sent. The error says that there
/// is no route.
[[nodiscard]] Result<std::string> own_address_towards(const Address& other);

}  // namespace troupe
