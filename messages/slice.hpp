// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace troupe {

/// Bytes that nobody changes any more, together with whatever keeps them alive (an array, a mapped
/// file, a transport's receive buffer). Copying a Slice copies no bytes.
class Slice {
 public:
  Slice() = default;
  Slice(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  /// A Slice that takes over a container of trivially copyable elements (`std::vector<float>`,
  /// ...).
  template <class Container>
  static Slice own(Container container) {
    auto held = std::make_shared<const Container>(std::move(container));
    auto bytes = std::as_bytes(std::span(held->data(), held->size()));
    return Slice(std::move(held), bytes);
  }

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  /// What keeps the bytes alive.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

}  // namespace troupe
