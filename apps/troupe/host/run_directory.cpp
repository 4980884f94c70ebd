// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/run_directory.hpp"

#include "actors/base/fd.hpp"

#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace troupe {
namespace {

namespace fs = std::filesystem;

Failure cannot_make(const fs::path& folder, const std::string& why) {
  return fail(ErrorCode::permission_denied, "cannot make the folder " + folder.string() + ": " +
                                                why +
                                                "; set TROUPE_HOME to one that you can "
                                                "write");
}

/// A folder that is there already stays as it is: its mode is its owner's business.
Result<fs::path> make_private(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0) return folder;
  const int why = errno;
  std::error_code error;
  if (why == EEXIST && fs::is_directory(folder, error)) return folder;
  return cannot_make(folder, errno_text(why == EEXIST ? ENOTDIR : why));
}

Result<fs::path> make_home(fs::path home) {
  if (!home.has_filename()) home = home.parent_path();  // "/somewhere/"
  std::error_code error;
  if (home.has_parent_path()) fs::create_directories(home.parent_path(), error);
  if (error) return cannot_make(home.parent_path(), error.message());
  return make_private(home);
}

}  // namespace

Result<fs::path> troupe_home() {
  if (const char* home = std::getenv("TROUPE_HOME"); home != nullptr && *home != '\0') {
    return make_home(home);
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    return fail(ErrorCode::invalid_argument, "set TROUPE_HOME: there is no HOME to put it in");
  }
  return make_home(fs::path(home) / ".local" / "state" / "troupe");
}

Result<fs::path> make_run_directory(const std::string& job) {
  auto home = troupe_home();
  if (!home) return home;
  const auto run =
      fmt::format("{:%Y%m%d-%H%M%S}-{}", fmt::localtime(std::time(nullptr)), ::getpid());
  if (auto made = make_private(*home / job); !made) return made;
  return make_private(*home / job / run);
}

}  // namespace troupe
