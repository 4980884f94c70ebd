// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The safetensors format: eight bytes of length, a JSON header, then the tensors' bytes without
// holes. Files written here are read by other programs of that format, and the other way round,
// within the limits below. All are checked before anything is allocated by them.

namespace troupe::easyscale {

enum class Dtype : std::uint8_t {
  boolean,
  u8,
  i8,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  i64,
  u64,
  f64
};

/// "F32": as the format spells it.
[[nodiscard]] std::string_view name_of(Dtype dtype);
[[nodiscard]] std::optional<Dtype> dtype_named(std::string_view name);
/// Bytes of one element.
[[nodiscard]] std::size_t size_of(Dtype dtype);

struct TensorInfo {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::uint64_t> shape;

  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

constexpr std::uint64_t most_header_bytes = 16U << 20U;
constexpr std::size_t most_tensors = 100'000;
constexpr std::size_t most_name_bytes = 512;
constexpr std::size_t most_dimensions = 16;

/// 1 to 512 visible ASCII characters other than quote and backslash.
[[nodiscard]] bool is_tensor_name(std::string_view name);

/// Elements times element size; an error where that is no 63-bit number, or for too many
/// dimensions.
[[nodiscard]] Result<std::uint64_t> byte_size(const TensorInfo& tensor);

/// Where a tensor's bytes are: [begin, end) from the start of the file.
struct TensorPlace {
  TensorInfo info;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// The start of a file that holds these tensors one after the other: length and header, padded so
/// that the tensors begin at a multiple of 64. Give those with larger elements first, and all are
/// aligned. `notes` go into the header's `__metadata__`; names and notes are tensor names.
[[nodiscard]] Result<std::string> make_tensor_header(
    std::span<const TensorInfo> tensors, const std::map<std::string, std::string>& notes);

/// How many bytes length and header are together, by the file's first eight bytes; an error for
/// what is no such file.
[[nodiscard]] Result<std::uint64_t> tensor_header_bytes(std::span<const std::byte> first,
                                                        std::uint64_t file_size);

/// Reads length and header. The tensors lie within the file, do not overlap, leave no hole, and
/// have names of their own; they are given in the order of their bytes.
[[nodiscard]] Result<std::vector<TensorPlace>> read_tensor_header(std::span<const std::byte> start,
                                                                  std::uint64_t file_size);

}  // namespace troupe::easyscale
