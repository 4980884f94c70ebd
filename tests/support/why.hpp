// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <string>

namespace troupe::test {

/// What a Result says went wrong; empty where nothing did. For messages of assertions, which are
/// made whether the assertion holds or not.
template <class T>
std::string why(const Result<T>& result) {
  return result ? std::string() : result.error().what;
}

}  // namespace troupe::test
