// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace troupe {

/// A part of a memory file in this process's memory; unmapped with it.
class Mapping {
 public:
  Mapping() = default;
  /// The file must be a memory file that cannot shrink (a file that shrinks under its mapping kills
  /// the reader) and must be long enough: anything else is refused.
  [[nodiscard]] static Result<Mapping> of(int memory_file, std::uint64_t offset,
                                          std::uint64_t length, bool writable);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  void* start_ = nullptr;
  std::size_t size_ = 0;
  std::span<std::byte> bytes_;
};

/// A memory file of `size` zero bytes that cannot shrink any more: what can be exposed as a file.
[[nodiscard]] Result<Fd> make_bulk_file(const std::string& name, std::uint64_t size);

/// Sees to it that a memory file cannot shrink. Errors: no memory file, made without
/// MFD_ALLOW_SEALING.
[[nodiscard]] Result<void> forbid_shrinking(int memory_file);

}  // namespace troupe
