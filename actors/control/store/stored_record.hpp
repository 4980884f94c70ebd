// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// The bytes of a record (msg::StoredRecord) around a body, with this program's version and a hash.
[[nodiscard]] std::string wrap_record(std::uint32_t format, std::string_view body);

/// The body of a record. Refused are damaged bytes, and formats newer than `format`, with the name
/// of the program that wrote them.
[[nodiscard]] Result<std::string> unwrap_record(std::uint32_t format, std::string_view bytes);

}  // namespace troupe
