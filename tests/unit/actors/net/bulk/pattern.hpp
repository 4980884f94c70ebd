// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/bulk/bulk_ref.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace troupe::test {

/// What stands at offset `i` of exposed memory in these tests: every page is different.
inline std::byte pattern_at(std::uint64_t i) {
  return static_cast<std::byte>((i * 31 + i / 251 + i / 4096 * 7) & 0xff);
}

inline void fill_pattern(std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = pattern_at(i);
}

/// `bytes` are what stands at `ranges`, one after the other.
inline bool is_pattern(std::span<const std::byte> bytes, std::span<const BulkRange> ranges) {
  std::size_t at = 0;
  for (const auto& range : ranges) {
    for (std::uint64_t i = 0; i < range.length; ++i) {
      if (at == bytes.size() || bytes[at++] != pattern_at(range.offset + i)) return false;
    }
  }
  return at == bytes.size();
}

inline std::string to_text(const BulkRef& ref) {
  capnp::MallocMessageBuilder builder;
  write_bulk_ref(builder.initRoot<msg::BulkRef>(), ref);
  const auto flat = capnp::messageToFlatArray(builder);
  std::string text;
  for (const auto byte : flat.asBytes()) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

inline BulkRef ref_from_text(const std::string& text) {
  std::vector<std::uint64_t> words(text.size() / 16);
  auto* bytes = reinterpret_cast<unsigned char*>(words.data());
  for (std::size_t i = 0; i < words.size() * 8; ++i) {
    bytes[i] = static_cast<unsigned char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  }
  capnp::FlatArrayMessageReader reader(
      kj::arrayPtr(reinterpret_cast<const capnp::word*>(words.data()), words.size()));
  return read_bulk_ref(reader.getRoot<msg::BulkRef>());
}

}  // namespace troupe::test
