// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "messages/slice.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace troupe {

/// When an asker stops waiting.
using Due = std::optional<std::chrono::steady_clock::time_point>;

/// How far a message of this size may be read: 8 times its words, 16 levels deep.
inline capnp::ReaderOptions message_limits(std::size_t size) {
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = std::max<std::uint64_t>(size, 1024);
  limits.nestingLimit = 16;
  return limits;
}

/// The message as it travels: its segments behind a table of their sizes.
inline Slice flatten(capnp::MessageBuilder& builder) {
  const auto segments = builder.getSegmentsForOutput();
  if (segments.size() != 1) {
    auto flat = std::make_shared<kj::Array<capnp::word>>(capnp::messageToFlatArray(segments));
    const auto bytes = std::as_bytes(std::span(flat->begin(), flat->size()));
    return Slice(std::move(flat), bytes);
  }
  const auto words = segments[0].size();
  auto flat = std::make_shared_for_overwrite<std::uint64_t[]>(1 + words);
  flat[0] = std::uint64_t{words} << 32;  // one segment, of so many words
  std::memcpy(&flat[1], segments[0].begin(), words * sizeof(capnp::word));
  const auto bytes = std::as_bytes(std::span(flat.get(), 1 + words));
  return Slice(std::move(flat), bytes);
}

/// Is this a message of one segment whose root is a struct inside it? Then a MessageView of it can
/// be made. A quick look: a message for which it says no may be good all the same.
inline bool has_plain_root(std::span<const std::byte> body) {
  if (body.size() < 2 * sizeof(capnp::word) || body.size() % sizeof(capnp::word) != 0) return false;
  std::uint64_t table = 0;
  std::uint64_t root = 0;
  std::memcpy(&table, body.data(), sizeof table);
  std::memcpy(&root, body.data() + sizeof table, sizeof root);
  const auto words = static_cast<std::int64_t>(body.size() / sizeof(capnp::word)) - 1;
  const bool one_segment = table == static_cast<std::uint64_t>(words) << 32;
  if (!one_segment || (root & 3) != 0) return false;  // 0: a struct pointer
  const auto begin = 1 + (static_cast<std::int32_t>(root) >> 2);
  const auto size = static_cast<std::int64_t>((root >> 32 & 0xffff) + (root >> 48));
  return begin >= 0 && begin + size <= words;
}

/// Reads one message. Made afresh for each reading, because a Cap'n Proto reader's traversal budget
/// is used up by reading; the budget here follows from the message's own size.
template <class S>
class MessageView {
 public:
  explicit MessageView(std::span<const std::byte> body)
      : reader_(words(body), message_limits(body.size())), root_(reader_.template getRoot<S>()) {}

  typename S::Reader* operator->() { return &root_; }
  typename S::Reader operator*() const { return root_; }

 private:
  static kj::ArrayPtr<const capnp::word> words(std::span<const std::byte> body) {
    return kj::arrayPtr(reinterpret_cast<const capnp::word*>(body.data()),
                        body.size() / sizeof(capnp::word));
  }

  capnp::FlatArrayMessageReader reader_;
  typename S::Reader root_;
};

/// An actor message: an immutable Cap'n Proto struct S, and optionally a blob of raw bytes (a
/// tensor, a gradient) beside it. Sending it to an actor of this process copies nothing, sending it
/// to another process re-encodes nothing.
template <class S>
class Msg {
 public:
  using Schema = S;
  using actor_message = void;

  Msg() = default;
  Msg(Slice body, Slice blob, Due due = {})
      : body_(std::move(body)), blob_(std::move(blob)), due_(due) {}

  /// Makes a message: `fill` gets the builder of an empty S.
  template <class Fill>
  static Msg build(Fill&& fill, Slice blob = {}) {
    capnp::word scratch[64];  // most messages need no more
    std::memset(scratch, 0, sizeof scratch);
    capnp::MallocMessageBuilder builder(kj::arrayPtr(scratch, std::size(scratch)));
    fill(builder.initRoot<S>());
    return Msg(flatten(builder), std::move(blob));
  }

  /// Throws kj::Exception where the bytes are not a valid message.
  [[nodiscard]] MessageView<S> read() const { return MessageView<S>(body_.bytes()); }

  [[nodiscard]] const Slice& body() const { return body_; }
  [[nodiscard]] const Slice& blob() const { return blob_; }
  /// Until when whoever sent this request waits for the answer, as far as that is known: where it
  /// came from another node.
  [[nodiscard]] Due due() const { return due_; }
  /// Nobody waits for the answer any more: a handler can spare itself the work.
  [[nodiscard]] bool is_late() const { return due_ && *due_ <= std::chrono::steady_clock::now(); }

 private:
  Slice body_;
  Slice blob_;
  Due due_;
};

}  // namespace troupe
