// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/crypto.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

/// The kinds of record on a control connection, in the order of a handshake.
enum class RecordKind : std::uint16_t {
  hello = 1,     ///< caller to called node
  challenge,     ///< called node to caller
  introduction,  ///< caller to called node
  welcome,       ///< called node to caller
  refusal,       ///< the called node says why not
  goodbye,       ///< orderly end
  ping,          ///< a sign of life after the handshake
};

/// One record: a kind, a Cap'n Proto body, and a MAC over it and all that was said before.
struct Record {
  RecordKind kind = RecordKind::hello;
  Digest mac{};
  std::string body;
};

/// Bytes of a record as they go over the wire.
[[nodiscard]] std::string encode_record(const Record& record);

/// Takes the first whole record off `bytes`; nothing where it is not whole yet. An error means that
/// the other side does not speak this protocol: it is found out from the first 8 bytes.
[[nodiscard]] Result<std::optional<Record>> take_record(std::string& bytes);

constexpr std::size_t max_record_body = 16384;

}  // namespace troupe
