// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <functional>
#include <new>
#include <string>

namespace troupe::test {

/// A value that a test and its children share.
template <class T>
class Shared {
 public:
  Shared()
      : value_(new (::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                           -1, 0)) T) {}
  ~Shared() { ::munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;

  T& operator*() const { return *value_; }
  T* operator->() const { return value_; }

 private:
  T* value_;
};

/// Runs `work` in a copy of this process, which dies with the test. The status is 0 unless it
/// throws.
inline pid_t fork_child(const std::function<void()>& work) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    work();
    ::_exit(0);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

/// The exit status, or minus the signal that ended it.
inline int wait_for_child(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Runs `work` in a copy of this process and hands back the text that it makes.
inline std::string in_child(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const auto pid = fork_child([&] {
    const auto text = work();
    if (::write(ends[1], text.data(), text.size()) < 0) ::_exit(2);
  });
  ::close(ends[1]);
  std::string text(4096, '\0');
  const auto size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  const int status = wait_for_child(pid);
  return status == 0 ? text : "the child ended with status " + std::to_string(status);
}

}  // namespace troupe::test
