// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace troupe::test {

/// A program that a test asks a line and that answers a line; it is killed with the test.
class ChildProcess {
 public:
  explicit ChildProcess(const std::string& program) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char* const words[] = {const_cast<char*>(program.c_str()), nullptr};
    const int error = ::posix_spawn(&pid_, program.c_str(), &actions, nullptr, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = Fd(in[1]);
    from_ = Fd(out[0]);
    if (error != 0) throw std::runtime_error("posix_spawn");
  }
  ~ChildProcess() { kill(); }
  ChildProcess(const ChildProcess&) = delete;

  void tell(const std::string& line) const {
    const auto text = line + "\n";
    if (::write(to_.get(), text.data(), text.size()) < 0) throw std::runtime_error("peer is gone");
  }
  /// The next line of its output; empty at its end.
  [[nodiscard]] std::string hear() const {
    std::string line;
    for (char c = 0; ::read(from_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  [[nodiscard]] std::string ask(const std::string& line) const {
    tell(line);
    return hear();
  }
  void signal(int number) const { ::kill(pid_, number); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
  Fd to_;
  Fd from_;
};

/// Bytes of memory that a process has resident.
inline std::size_t resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t whole = 0;
  std::size_t resident = 0;
  if (!(file >> whole >> resident)) throw std::runtime_error("no such process");
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace troupe::test
