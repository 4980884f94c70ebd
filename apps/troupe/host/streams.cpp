// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/streams.hpp"

#include "actors/base/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace troupe {

void open_missing_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // open() gives the lowest free number, and all lower ones are taken.
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDWR);
  }
}

std::string stdout_name() {
  std::error_code error;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/1", error);
  return "standard output" + (error ? std::string() : " (" + path.string() + ")");
}

Result<void> finish_stdout() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  const auto why = errno == 0 ? std::string("not all of it could be written") : errno_text(errno);
  return fail(ErrorCode::unavailable, stdout_name() + ": " + why);
}

LineFile LineFile::open(const std::filesystem::path& path) {
  return {std::fopen(path.c_str(), "we"), path.string()};
}

LineFile LineFile::take_stdout() {
  const auto name = stdout_name();
  Fd copy(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  std::FILE* file = copy ? ::fdopen(copy.get(), "w") : nullptr;
  if (file != nullptr) (void)copy.release();
  LineFile taken(file, name);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return taken;
}

LineFile::LineFile(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {
  if (file == nullptr) note_failure(errno);
}

bool LineFile::write(std::string_view line) {
  if (!status_) return true;  // said already
  const bool written = std::fwrite(line.data(), 1, line.size(), file_.get()) == line.size() &&
                       std::fputc('\n', file_.get()) != EOF && std::fflush(file_.get()) == 0;
  if (!written) note_failure(errno);
  return written;
}

void LineFile::note_failure(int error) {
  status_ = fail(ErrorCode::unavailable, name_ + ": " + errno_text(error));
}

}  // namespace troupe
