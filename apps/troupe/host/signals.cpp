// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/signals.hpp"

#include "actors/base/assert.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace troupe {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

Signals::Signals() {
  const auto set = stop_signals();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  TROUPE_ASSERT(fd_);
}

std::optional<int> Signals::wait(const WakeUp& wake, Millis limit) const {
  pollfd polled[2] = {{fd_.get(), POLLIN, 0}, {wake.fd(), POLLIN, 0}};
  ::poll(polled, 2, static_cast<int>(limit.count()));
  signalfd_siginfo info{};
  if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void Signals::die_of(int signal) {
  std::signal(signal, SIG_DFL);
  const auto set = stop_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  std::_Exit(128 + signal);
}

}  // namespace troupe
