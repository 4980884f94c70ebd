// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <string>
#include <utility>

namespace troupe {

/// Owns a file descriptor and closes it.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset() { *this = Fd(); }

 private:
  int fd_ = -1;
};

/// The message of errno as a text, "No such file or directory".
[[nodiscard]] std::string errno_text(int error);

/// Wakes a thread that sleeps in epoll: any thread signals, the owner clears.
class WakeUp {
 public:
  WakeUp();
  void signal() const;
  void clear() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

/// An anonymous memory file that lives as long as somebody has it open; closed on exec.
[[nodiscard]] Result<Fd> make_memfd(const std::string& name);

/// Reads a whole descriptor, at most `limit` bytes; more is an error.
[[nodiscard]] Result<std::string> read_all(int fd, std::size_t limit);

}  // namespace troupe
