// SPDX-License-Identifier: Apache-2.0
#include "actors/base/atomic_file.hpp"

#include "actors/base/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

namespace troupe {
namespace {

Failure file_error(const std::string& what, const std::filesystem::path& path) {
  const bool full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
  const auto code = full ? ErrorCode::resource_exhausted : ErrorCode::unavailable;
  return fail(code, path.string() + ": " + what + ": " + errno_text(errno));
}

Result<void> write_all(int fd, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("cannot write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_and_sync(const std::filesystem::path& path,
                            std::span<const std::string_view> pieces) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd) return file_error("cannot create", path);
  for (const auto piece : pieces) {
    if (auto written = write_all(fd.get(), piece, path); !written) return written;
  }
  if (::fsync(fd.get()) != 0) return file_error("cannot sync", path);
  return {};
}

}  // namespace

Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  return write_file_atomically(path, std::span(&bytes, 1));
}

Result<void> write_file_atomically(const std::filesystem::path& path,
                                   std::span<const std::string_view> pieces) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const std::filesystem::path temporary = path.string() + ".tmp." + std::to_string(::getpid());
  if (auto written = write_and_sync(temporary, pieces); !written) {
    ::unlink(temporary.c_str());
    return written;
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    auto failure = file_error("cannot rename to it", path);
    ::unlink(temporary.c_str());
    return failure;
  }
  const Fd directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return file_error("cannot sync", folder);
  return {};
}

}  // namespace troupe
