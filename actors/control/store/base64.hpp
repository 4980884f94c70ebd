// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// Bytes as JSON carries them: RFC 4648, with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);
[[nodiscard]] Result<std::string> from_base64(std::string_view text);

}  // namespace troupe
