// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/base64.hpp"

#include <array>
#include <cstdint>

namespace troupe {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr auto values = [] {
  std::array<std::int8_t, 256> table{};
  table.fill(-1);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::int8_t>(i);
  }
  return table;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= group.size() ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  const auto bad = [] { return fail(ErrorCode::corrupt, "not a base64 text"); };
  if (text.size() % 4 != 0) return bad();
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool pad = at >= text.size() - padding;
    const auto value = pad ? 0 : values[static_cast<unsigned char>(text[at])];
    if (value < 0) return bad();
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    if (at % 4 != 3) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift & 255);
    bits = 0;
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace troupe
