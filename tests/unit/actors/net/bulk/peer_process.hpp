// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/fd.hpp"
#include "actors/net/crypto.hpp"
#include "tests/unit/actors/net/bulk/pattern.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace troupe::test {

/// peer_main.cpp as a process that this test talks to; it ends with it.
class PeerProcess {
 public:
  explicit PeerProcess(const ClusterSecret& secret) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) {
      throw std::runtime_error("pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char* const words[] = {const_cast<char*>(TROUPE_BULK_PEER), nullptr};
    const int error = ::posix_spawn(&pid_, TROUPE_BULK_PEER, &actions, nullptr, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    to_ = Fd(in[1]);
    from_ = Fd(out[0]);
    if (error != 0) throw std::runtime_error("posix_spawn");
    write_line(secret.text());
  }
  ~PeerProcess() { kill(); }
  PeerProcess(const PeerProcess&) = delete;

  std::string ask(const std::string& command) {
    write_line(command);
    std::string line;
    for (char c = 0; ::read(from_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  BulkRef expose(const std::string& how, std::uint64_t bytes) {
    const auto said = ask("expose " + how + " " + std::to_string(bytes));
    if (said.empty() || said.starts_with("error")) throw std::runtime_error("peer: " + said);
    return ref_from_text(said);
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
  void write_line(const std::string& line) const {
    const auto text = line + "\n";
    if (::write(to_.get(), text.data(), text.size()) < 0) throw std::runtime_error("peer is gone");
  }

  pid_t pid_ = 0;
  Fd to_;
  Fd from_;
};

}  // namespace troupe::test
