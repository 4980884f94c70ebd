// SPDX-License-Identifier: Apache-2.0
#include "actors/base/fd.hpp"

#include "actors/base/assert.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace troupe {

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

std::string errno_text(int error) { return std::generic_category().message(error); }

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) { TROUPE_ASSERT(fd_); }

void WakeUp::signal() const {
  const std::uint64_t one = 1;
  // It can only fail where the counter is full, and then the owner is already awake.
  [[maybe_unused]] const auto written = ::write(fd_.get(), &one, sizeof one);
}

void WakeUp::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(fd_.get(), &count, sizeof count);
}

Result<Fd> make_memfd(const std::string& name) {
  constexpr std::size_t longest = 200;  // the kernel takes 249; the name is for people only
  Fd fd(::memfd_create(name.substr(0, longest).c_str(), MFD_CLOEXEC));
  if (!fd) return fail(ErrorCode::resource_exhausted, "memfd_create: " + errno_text(errno));
  return fd;
}

Result<std::string> read_all(int fd, std::size_t limit) {
  std::string all;
  char chunk[4096];
  while (true) {
    const auto got = ::read(fd, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::unavailable, "read: " + errno_text(errno));
    if (got == 0) return all;
    if (all.size() + static_cast<std::size_t>(got) > limit) {
      return fail(ErrorCode::invalid_argument, "longer than " + std::to_string(limit) + " bytes");
    }
    all.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace troupe
