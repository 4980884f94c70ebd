// SPDX-License-Identifier: Apache-2.0
//
// The first byte says what the others are: the start of a file of tensors, a manifest, or hashes.
#include "actors/base/assert.hpp"
#include "gpu/easyscale/checkpoint/hash_file.hpp"
#include "gpu/easyscale/checkpoint/manifest_link.hpp"
#include "gpu/easyscale/checkpoint/tensor_file.hpp"

namespace {

using namespace troupe;
using namespace troupe::easyscale;

void read_tensors(std::span<const std::byte> bytes) {
  const auto places = read_tensor_header(bytes, bytes.size());
  if (!places) return;
  for (const TensorPlace& place : *places) {
    TROUPE_ASSERT(place.begin <= place.end && place.end <= bytes.size());
    TROUPE_ASSERT(place.end - place.begin == byte_size(place.info).value());
  }
}

void read_manifest(std::span<const std::byte> bytes) {
  const auto manifest = decode_manifest(bytes);
  if (!manifest) return;
  const auto again = encode(*manifest);
  const auto same = decode_manifest(std::as_bytes(std::span(again)));
  TROUPE_ASSERT(same && same->tensors == manifest->tensors && same->files == manifest->files);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_tensors(bytes);
      break;
    case 1:
      read_manifest(bytes);
      break;
    default:
      static_cast<void>(parse_hashes(text));
  }
  return 0;
}
