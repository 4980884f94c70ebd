// SPDX-License-Identifier: Apache-2.0
#include "actors/core/launcher.hpp"

#include "actors/base/assert.hpp"
#include "actors/base/logfmt.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <fstream>

extern "C" {  // glibc 2.36's header forgets to say so
#include <sys/pidfd.h>
}

extern char** environ;

namespace troupe {
namespace {

constexpr auto kill_time = std::chrono::seconds(5);

std::string describe(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return "exit status " + std::to_string(info.si_status);
  return "killed by signal " + std::to_string(info.si_status) + " (" + ::strsignal(info.si_status) +
         ")";
}

/// posix_spawn's two C structures.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

/// Descriptors become 3, 4, ... by way of high numbers, since one of them may be in another's
/// place.
void hand_down(const std::vector<int>& descriptors, posix_spawn_file_actions_t* actions) {
  constexpr int first = 3;
  constexpr int parking = 900;
  const int count = static_cast<int>(descriptors.size());
  for (int i = 0; i < count; ++i) {
    posix_spawn_file_actions_adddup2(actions, descriptors[static_cast<std::size_t>(i)],
                                     parking + i);
  }
  for (int i = 0; i < count; ++i) {
    posix_spawn_file_actions_adddup2(actions, parking + i, first + i);
  }
  posix_spawn_file_actions_addclosefrom_np(actions, first + count);
}

bool is_info(const std::string& line) { return logfmt_value(line, "level") == "info"; }

std::vector<std::string> environment_of(const ProcessSpec& spec) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const auto name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(spec.environment.begin(), spec.environment.end(),
                                      [&](const auto& variable) { return variable.first == name; });
    if (!replaced) result.push_back(text);
  }
  for (const auto& [name, value] : spec.environment) result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

struct Process::State {
  int pid = -1;
  Fd pidfd;
  std::function<void(const std::string&)> on_end;
  std::mutex mutex;
  std::condition_variable end;
  std::string how;
};

Process::~Process() {
  if (!wait_for_end(Millis(0)).empty()) return;
  ::pidfd_send_signal(state_->pidfd.get(), SIGKILL, nullptr, 0);
  (void)wait_for_end(kill_time);
}

int Process::pid() const { return state_->pid; }

void Process::terminate() const { ::pidfd_send_signal(state_->pidfd.get(), SIGTERM, nullptr, 0); }

std::string Process::wait_for_end(Millis limit) const {
  std::unique_lock lock(state_->mutex);
  state_->end.wait_for(lock, limit, [&] { return !state_->how.empty(); });
  return state_->how;
}

Launcher::Launcher() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  TROUPE_ASSERT(epoll_);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_.fd();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.fd(), &event);
  reaper_ = std::thread([this] { reap(); });
}

Launcher::~Launcher() {
  stopping_ = true;
  wake_.signal();
  reaper_.join();
}

Result<std::unique_ptr<Process>> Launcher::start(
    const ProcessSpec& spec, std::function<void(const std::string& how)> on_end) {
  SpawnSettings settings;
  auto* actions = &settings.actions;
  posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  const auto log = spec.log.empty() ? std::string("/dev/null") : spec.log.string();
  posix_spawn_file_actions_addopen(actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(actions, 1, 2);
  hand_down(spec.descriptors, actions);
  std::vector<std::string> arguments = spec.arguments;
  arguments.insert(arguments.begin(), spec.binary);
  auto environment = environment_of(spec);
  auto state = std::make_shared<Process::State>();
  state->on_end = std::move(on_end);
  const int error = ::posix_spawn(&state->pid, spec.binary.c_str(), actions, &settings.attributes,
                                  pointers(arguments).data(), pointers(environment).data());
  if (error != 0) {
    return fail(error == ENOENT ? ErrorCode::not_found : ErrorCode::unavailable,
                "cannot start " + spec.binary + ": " + errno_text(error));
  }
  state->pidfd = Fd(::pidfd_open(state->pid, 0));
  TROUPE_ASSERT(state->pidfd);
  ::fcntl(state->pidfd.get(), F_SETFD, FD_CLOEXEC);
  {
    const std::lock_guard lock(mutex_);
    alive_[state->pidfd.get()] = state;
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = state->pidfd.get();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, state->pidfd.get(), &event);
  return std::unique_ptr<Process>(new Process(std::move(state)));
}

void Launcher::reap() {
  while (!stopping_) {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
    if (event.data.fd != wake_.fd()) bury(event.data.fd);
  }
}

void Launcher::bury(int pidfd) {
  std::shared_ptr<Process::State> state;
  {
    const std::lock_guard lock(mutex_);
    const auto it = alive_.find(pidfd);
    if (it == alive_.end()) return;
    state = std::move(it->second);
    alive_.erase(it);
  }
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, pidfd, nullptr);
  siginfo_t info{};
  ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED);
  const auto how = describe(info);
  {
    const std::lock_guard lock(state->mutex);
    state->how = how;
  }
  state->end.notify_all();
  if (state->on_end) state->on_end(how);
}

bool ended_by_itself(const std::string& how) {
  return how.rfind("killed by signal 9 ", 0) != 0 && how.rfind("killed by signal 15 ", 0) != 0;
}

std::string last_complaint(const std::filesystem::path& log) {
  std::ifstream file(log, std::ios::binary | std::ios::ate);
  if (!file) return {};
  const auto size = static_cast<std::streamoff>(file.tellg());
  const auto start = std::max<std::streamoff>(0, size - 4096);
  std::string text(static_cast<std::size_t>(size - start), '\0');
  file.seekg(start);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  while (true) {
    const auto end = text.find_last_not_of(" \t\r\n");
    if (end == std::string::npos) return {};
    text.resize(end + 1);
    const auto begin = text.rfind('\n') + 1;
    const auto line = text.substr(begin);
    if (!is_info(line)) return logfmt_value(line, "msg").value_or(line);
    text.resize(begin);
  }
}

}  // namespace troupe
