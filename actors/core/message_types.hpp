// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/message.hpp"

#include <caf/actor_control_block.hpp>
#include <caf/mailbox_element.hpp>
#include <capnp/schema.h>

#include <cstdint>
#include <typeindex>
#include <typeinfo>
#include <unordered_map>
#include <utility>

namespace troupe {

/// The messages that may cross between processes: C++ type on one side, the struct's 64-bit Cap'n
/// Proto id on the other. Filled by main() before the node starts, then only read.
class MessageTypes {
 public:
  struct Parts {
    Slice body;
    Slice blob;
    Due due;
  };
  struct Type {
    std::uint64_t id;
    /// What an actor's mailbox takes. Throws kj::Exception where the body cannot be an S.
    caf::mailbox_element_ptr (*make)(caf::strong_actor_ptr sender, caf::message_id id, Slice body,
                                     Slice blob, Due due);
    Parts (*take)(const void* message);
  };

  template <class S>
  void add() {
    const Type type{
        capnp::typeId<S>(),
        [](caf::strong_actor_ptr sender, caf::message_id id, Slice body, Slice blob, Due due) {
          if (!has_plain_root(body.bytes())) (void)MessageView<S>(body.bytes());
          return caf::make_mailbox_element(std::move(sender), id, {},
                                           Msg<S>(std::move(body), std::move(blob), due));
        },
        [](const void* message) {
          const auto& typed = *static_cast<const Msg<S>*>(message);
          return Parts{typed.body(), typed.blob(), typed.due()};
        }};
    by_info_.insert_or_assign(&typeid(Msg<S>), type);
    by_type_.insert_or_assign(std::type_index(typeid(Msg<S>)), type);
    by_id_.insert_or_assign(type.id, type);
  }

  [[nodiscard]] const Type* find(const std::type_info& type) const {
    if (const auto it = by_info_.find(&type); it != by_info_.end()) return &it->second;
    // A type may have another description in a shared library.
    const auto it = by_type_.find(std::type_index(type));
    return it == by_type_.end() ? nullptr : &it->second;
  }
  [[nodiscard]] const Type* find(std::uint64_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &it->second;
  }

 private:
  std::unordered_map<const std::type_info*, Type> by_info_;
  std::unordered_map<std::type_index, Type> by_type_;
  std::unordered_map<std::uint64_t, Type> by_id_;
};

}  // namespace troupe
