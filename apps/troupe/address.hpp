// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <string_view>

namespace troupe {

/// "host:port" or "[v6 address]:port", the host a numeric address or `localhost`, the port from 0
/// to 65535. Whether the host exists is not asked.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

}  // namespace troupe
