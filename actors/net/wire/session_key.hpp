// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/crypto.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace troupe {

using Tag = std::array<std::byte, 16>;

/// The key of one direction of one connection. Authenticates (SipHash-2-4 with 128 bits, a keyed
/// pseudo-random function made for short messages) and, on request, encrypts (ChaCha20-Poly1305).
/// The sequence number must never repeat under one key.
class SessionKey {
 public:
  /// Half of `secret` makes tags, the other half encrypts.
  explicit SessionKey(const Digest& secret);

  /// The tag of all parts one after the other.
  [[nodiscard]] Tag tag(std::initializer_list<std::span<const std::byte>> parts) const;

  /// Encrypts in place; `part` tells the pieces of one sequence number apart. The tag also covers
  /// `clear`, which is not encrypted.
  [[nodiscard]] Tag encrypt(std::uint64_t sequence, std::uint32_t part,
                            std::span<const std::byte> clear, std::span<std::byte> bytes) const;
  /// Undoes it; false: forged or damaged, and `bytes` are worth nothing.
  [[nodiscard]] bool decrypt(std::uint64_t sequence, std::uint32_t part,
                             std::span<const std::byte> clear, std::span<std::byte> bytes,
                             const Tag& tag) const;

 private:
  std::array<std::byte, 16> tag_key_;
  Digest cipher_key_;
};

[[nodiscard]] bool equal_tags(const Tag& a, const Tag& b);

}  // namespace troupe
