// SPDX-License-Identifier: Apache-2.0
//
// The first byte says in how large pieces the others come.
#include "actors/base/assert.hpp"
#include "actors/net/record.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  std::string buffer;
  for (std::size_t at = 1; at < size; at += piece) {
    buffer.append(reinterpret_cast<const char*>(data) + at, std::min(piece, size - at));
    while (!buffer.empty()) {
      const auto record = take_record(buffer);
      if (!record) return 0;
      if (!*record) break;
      TROUPE_ASSERT((*record)->body.size() <= max_record_body);
      auto again = encode_record(**record);
      const auto same = take_record(again);
      TROUPE_ASSERT(same && *same && (*same)->body == (*record)->body && again.empty());
    }
    TROUPE_ASSERT(buffer.size() <= 48 + max_record_body + piece);
  }
  return 0;
}
