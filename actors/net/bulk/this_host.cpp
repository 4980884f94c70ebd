// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/this_host.hpp"

#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace troupe {

std::uint64_t host_token() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  char space[64];
  const auto length = ::readlink("/proc/self/ns/pid", space, sizeof space);
  if (boot.empty() || length <= 0) return 0;
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
  for (const char c : boot + std::string(space, static_cast<std::size_t>(length))) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  }
  return hash == 0 ? 1 : hash;
}

Result<std::uint64_t> start_time_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // The second field is a name in parentheses that may itself contain anything; it is field 22 of
  // all that we want, which is the 20th after the name.
  auto at = text.rfind(')');
  for (int field = 0; field < 20 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at == std::string::npos ||
      std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks).ec != std::errc()) {
    return fail(ErrorCode::unavailable, "there is no process " + std::to_string(pid));
  }
  return ticks;
}

}  // namespace troupe
