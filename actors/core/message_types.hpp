// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/message.hpp"

#include <caf/make_message.hpp>
#include <caf/message.hpp>
#include <capnp/schema.h>

#include <cstdint>
#include <typeindex>
#include <unordered_map>
#include <utility>

namespace troupe {

/// The messages that may cross between processes: C++ type on one side, the struct's 64-bit Cap'n
/// Proto id on the other. Filled by main() before the node starts, then only read.
class MessageTypes {
 public:
  struct Type {
    std::uint64_t id;
    /// Throws kj::Exception where the body cannot be an S.
    caf::message (*make)(Slice body, Slice blob);
    std::pair<Slice, Slice> (*take)(const void* message);
  };

  template <class S>
  void add() {
    const Type type{capnp::typeId<S>(),
                    [](Slice body, Slice blob) {
                      (void)MessageView<S>(body.bytes());
                      return caf::make_message(Msg<S>(std::move(body), std::move(blob)));
                    },
                    [](const void* message) {
                      const auto& typed = *static_cast<const Msg<S>*>(message);
                      return std::pair(typed.body(), typed.blob());
                    }};
    by_type_.insert_or_assign(std::type_index(typeid(Msg<S>)), type);
    by_id_.insert_or_assign(type.id, type);
  }

  [[nodiscard]] const Type* find(std::type_index type) const {
    const auto it = by_type_.find(type);
    return it == by_type_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const Type* find(std::uint64_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<std::type_index, Type> by_type_;
  std::unordered_map<std::uint64_t, Type> by_id_;
};

}  // namespace troupe
