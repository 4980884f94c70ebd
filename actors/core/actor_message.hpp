// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/allowed_unsafe_message_type.hpp>

#include <type_traits>

namespace troupe {

/// A type that actors may send each other: it has `using actor_message = void`. CAF moves or copies
/// such values and never serialises them; between processes only Msg<S> travels.
template <class T>
concept ActorMessage = requires {
  typename T::actor_message;
};

/// CAF wants one for every message type.
template <class Inspector, ActorMessage T>
typename Inspector::result_type inspect(Inspector&, T&) {
  return typename Inspector::result_type();
}

}  // namespace troupe

template <troupe::ActorMessage T>
struct caf::allowed_unsafe_message_type<T> : std::true_type {};
