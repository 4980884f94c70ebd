// SPDX-License-Identifier: Apache-2.0
#include "actors/base/boot_clock.hpp"

#include "actors/base/assert.hpp"
#include "actors/base/fd.hpp"

#include <fcntl.h>

#include <cerrno>
#include <ctime>

namespace troupe {

BootClock::time_point BootClock::now() {
  timespec time{};
  TROUPE_ASSERT(::clock_gettime(CLOCK_BOOTTIME, &time) == 0);
  return time_point(std::chrono::duration_cast<duration>(std::chrono::seconds(time.tv_sec) +
                                                         std::chrono::nanoseconds(time.tv_nsec)));
}

Result<std::string> boot_id() {
  const std::string path = "/proc/sys/kernel/random/boot_id";
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(ErrorCode::unavailable, path + ": " + errno_text(errno));
  auto text = read_all(file.get(), 64);
  if (!text) return fail_at(path, text.error());
  while (!text->empty() && text->back() == '\n') text->pop_back();
  if (text->empty()) return fail(ErrorCode::unavailable, path + ": is empty");
  return text;
}

}  // namespace troupe
