// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace troupe {

using Digest = std::array<std::byte, 32>;

/// SHA-256 of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  /// Ends the computation; call it once.
  [[nodiscard]] Digest digest();
  [[nodiscard]] std::string hex();

 private:
  alignas(64) std::array<std::byte, 128> state_;
};

[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);

/// Random numbers that nobody can guess.
void fill_random(std::span<std::byte> bytes);
[[nodiscard]] std::uint64_t random_number();

/// The cluster's secret: who knows it belongs to the cluster. Kept as a key, wiped when destroyed.
class ClusterSecret {
 public:
  /// A secret that nobody else knows, for a cluster that lives on this machine only.
  [[nodiscard]] static ClusterSecret random();
  /// Any text of 16 to 4096 bytes; surrounding white space does not count.
  [[nodiscard]] static Result<ClusterSecret> from_text(std::string_view text);
  /// A file that only its owner may read.
  [[nodiscard]] static Result<ClusterSecret> from_file(const std::string& path);
  /// An inherited descriptor, read to its end and closed.
  [[nodiscard]] static Result<ClusterSecret> from_fd(int fd);

  ClusterSecret(const ClusterSecret&) = default;
  ClusterSecret& operator=(const ClusterSecret&) = default;
  ~ClusterSecret();

  /// HMAC-SHA-256 of the parts one after the other.
  [[nodiscard]] Digest mac(std::initializer_list<std::span<const std::byte>> parts) const;
  /// A text from which from_text makes the same secret; for launched processes, by descriptor only.
  [[nodiscard]] std::string text() const { return text_; }

 private:
  explicit ClusterSecret(std::string text);

  std::string text_;
  Digest key_;
};

/// Compares in a time that does not depend on the bytes.
[[nodiscard]] bool equal_digests(const Digest& a, const Digest& b);

}  // namespace troupe
