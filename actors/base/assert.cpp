// SPDX-License-Identifier: Apache-2.0
#include "actors/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace troupe {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "troupe: %s:%d: this cannot happen: !(%s); please report it\n", file, line,
               condition);
  std::abort();
}

}  // namespace troupe
