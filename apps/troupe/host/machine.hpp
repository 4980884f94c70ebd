// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// How many GPUs have a device file (/dev/nvidia0, ...).
[[nodiscard]] std::uint32_t count_gpus();

/// The address of this machine from which packets to that one are sent. The error says that there
/// is no route.
[[nodiscard]] Result<std::string> own_address_towards(const Address& other);

}  // namespace troupe
