// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/run_directory.hpp"

#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace troupe {
namespace {

Result<std::filesystem::path> make_private(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || ::chmod(folder.c_str(), 0700) != 0) {
    return fail(ErrorCode::permission_denied, "cannot make the folder " + folder.string() +
                                                  (error ? ": " + error.message() : "") +
                                                  "; set TROUPE_HOME to one that you can write");
  }
  return folder;
}

}  // namespace

Result<std::filesystem::path> troupe_home() {
  if (const char* home = std::getenv("TROUPE_HOME"); home != nullptr && *home != '\0') {
    return make_private(home);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    return fail(ErrorCode::invalid_argument, "set TROUPE_HOME: there is no HOME to put it in");
  }
  return make_private(std::filesystem::path(home) / ".local" / "state" / "troupe");
}

Result<std::filesystem::path> make_run_directory(const std::string& job) {
  auto home = troupe_home();
  if (!home) return home;
  const auto run =
      fmt::format("{:%Y%m%d-%H%M%S}-{}", fmt::localtime(std::time(nullptr)), ::getpid());
  if (auto made = make_private(*home / job); !made) return made;
  return make_private(*home / job / run);
}

}  // namespace troupe
