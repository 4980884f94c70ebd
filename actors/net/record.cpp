// SPDX-License-Identifier: Apache-2.0
#include "actors/net/record.hpp"

#include <algorithm>
#include <cstring>

namespace troupe {
namespace {

constexpr std::uint32_t record_magic = 0x43505254;  // "TRPC"
constexpr std::uint16_t protocol_version = 1;

struct RecordHeader {
  std::uint32_t magic = record_magic;
  std::uint16_t protocol = protocol_version;
  RecordKind kind = RecordKind::hello;
  std::uint32_t body_bytes = 0;
  std::uint32_t reserved = 0;
  Digest mac{};
};
static_assert(sizeof(RecordHeader) == 48);

Result<void> check_start(const RecordHeader& header, std::size_t have) {
  if (have >= 4 && header.magic != record_magic) {
    return fail(ErrorCode::corrupt, "the other side is no Troupe control port");
  }
  if (have >= 6 && header.protocol != protocol_version) {
    return fail(ErrorCode::version_mismatch,
                "the other side speaks control protocol " + std::to_string(header.protocol) +
                    ", this program " + std::to_string(protocol_version) +
                    ": install the same version of Troupe on both");
  }
  if (have >= 12 && (header.body_bytes > max_record_body || header.body_bytes % 8 != 0)) {
    return fail(ErrorCode::corrupt,
                "a control record of " + std::to_string(header.body_bytes) + " bytes");
  }
  return {};
}

}  // namespace

std::string encode_record(const Record& record) {
  RecordHeader header;
  header.kind = record.kind;
  header.body_bytes = static_cast<std::uint32_t>(record.body.size());
  header.mac = record.mac;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes + record.body;
}

Result<std::optional<Record>> take_record(std::string& bytes) {
  RecordHeader header;
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  if (auto good = check_start(header, bytes.size()); !good) return Failure(good.error());
  if (bytes.size() < sizeof header) return std::optional<Record>();
  if (header.kind < RecordKind::hello || header.kind > RecordKind::ping) {
    return fail(ErrorCode::corrupt, "a control record of an unknown kind");
  }
  const auto whole = sizeof header + header.body_bytes;
  if (bytes.size() < whole) return std::optional<Record>();
  Record record{header.kind, header.mac, bytes.substr(sizeof header, header.body_bytes)};
  bytes.erase(0, whole);
  return std::optional<Record>(std::move(record));
}

}  // namespace troupe
