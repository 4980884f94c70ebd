// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <string>

namespace troupe {

/// Why a result failed, for a test's message; empty where it did not fail. (Boost.Test evaluates a
/// message even when it does not print it, and `error()` of a good result is a fault.)
template <class T>
[[nodiscard]] std::string why(const Result<T>& result) {
  return result ? std::string() : result.error().what;
}

}  // namespace troupe
