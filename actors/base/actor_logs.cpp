// SPDX-License-Identifier: Apache-2.0
#include "actors/base/actor_logs.hpp"

#include "actors/base/logfmt.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace troupe {

std::string ActorLogs::add(const std::string& actor, std::string_view line) {
  if (job_of(actor) != job_ || failed_.contains(actor)) return {};
  std::string error;
  const int fd = file_of(actor, error);
  if (fd >= 0) {
    std::string text(line);
    text += '\n';
    if (::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
    error = errno_text(errno);
  }
  failed_.insert(actor);
  return "the log of " + actor + " ends here: " + error;
}

int ActorLogs::file_of(const std::string& actor, std::string& error) {
  if (const auto it = open_.find(actor); it != open_.end()) {
    order_.splice(order_.end(), order_, it->second.place);
    return it->second.fd.get();
  }
  const auto file = log_file_of(actor);
  if (!file) {
    error = "it is no path of an actor";
    return -1;
  }
  std::error_code code;
  std::filesystem::create_directories((folder_ / *file).parent_path(), code);
  Fd fd(::open((folder_ / *file).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd) {
    error = (folder_ / *file).string() + ": " + errno_text(errno);
    return -1;
  }
  if (open_.size() >= most_open) {
    open_.erase(order_.front());
    order_.pop_front();
  }
  const auto place = order_.insert(order_.end(), actor);
  return open_.emplace(actor, Open{std::move(fd), place}).first->second.fd.get();
}

}  // namespace troupe
