// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "messages/slice.hpp"

#include <capnp/message.h>
#include <capnp/serialize.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace troupe {

/// How far a message of this size may be read: 8 times its words, 16 levels deep.
inline capnp::ReaderOptions message_limits(std::size_t size) {
  capnp::ReaderOptions limits;
  limits.traversalLimitInWords = std::max<std::uint64_t>(size, 1024);
  limits.nestingLimit = 16;
  return limits;
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
  Msg(Slice body, Slice blob) : body_(std::move(body)), blob_(std::move(blob)) {}

  /// Makes a message: `fill` gets the builder of an empty S.
  template <class Fill>
  static Msg build(Fill&& fill, Slice blob = {}) {
    capnp::MallocMessageBuilder builder(64);
    fill(builder.initRoot<S>());
    auto flat = std::make_shared<kj::Array<capnp::word>>(capnp::messageToFlatArray(builder));
    const auto bytes = std::as_bytes(std::span(flat->begin(), flat->size()));
    return Msg(Slice(std::move(flat), bytes), std::move(blob));
  }

  /// Throws kj::Exception where the bytes are not a valid message.
  [[nodiscard]] MessageView<S> read() const { return MessageView<S>(body_.bytes()); }

  [[nodiscard]] const Slice& body() const { return body_; }
  [[nodiscard]] const Slice& blob() const { return blob_; }

 private:
  Slice body_;
  Slice blob_;
};

}  // namespace troupe
