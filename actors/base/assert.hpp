// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace troupe {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace troupe

/// What cannot happen. On in release builds too: a wrong state must not go on.
#define TROUPE_ASSERT(condition) \
  ((condition) ? (void)0 : ::troupe::assertion_failed(#condition, __FILE__, __LINE__))
