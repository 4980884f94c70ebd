// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/checkpoint/manifest.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe::easyscale {

constexpr std::uint32_t manifest_version = 1;
constexpr std::size_t most_manifest_bytes = 64U << 20U;

/// The bytes of a manifest file (messages/checkpoint.capnp). `version` of the manifest is written.
[[nodiscard]] std::string encode(const Manifest& manifest);

/// Reads them back, and checks the manifest. Errors: version_mismatch for those of newer formats,
/// named with the program that wrote it; corrupt for all other bytes that are no manifest.
[[nodiscard]] Result<Manifest> decode_manifest(std::span<const std::byte> bytes);

}  // namespace troupe::easyscale
