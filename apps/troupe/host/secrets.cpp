// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/secrets.hpp"

#include "actors/base/atomic_file.hpp"
#include "actors/base/fd.hpp"
#include "actors/net/control_connection.hpp"
#include "apps/troupe/host/run_directory.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace troupe {

namespace {

/// Makes the file unless it is there; of several that do so at once one wins, and all read its
/// secret.
Result<void> make_secret_once(const std::filesystem::path& path) {
  if (std::filesystem::exists(path)) return {};
  const std::filesystem::path mine = path.string() + "." + std::to_string(::getpid());
  auto made = write_file_atomically(mine, ClusterSecret::random().text() + "\n");
  if (made && ::link(mine.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    made = fail(ErrorCode::unavailable, path.string() + ": " + errno_text(errno));
  }
  ::unlink(mine.c_str());
  return made;
}

}  // namespace

Result<ClusterSecret> find_secret(const std::string& file, const Address& listen) {
  if (!file.empty()) return ClusterSecret::from_file(file);
  if (!is_loopback(listen)) {
    return fail(ErrorCode::permission_denied,
                "a node that others can reach (" + to_string(listen) +
                    ") needs a secret: --secret-file FILE; make one with: head -c 32 /dev/urandom "
                    "| base64 > FILE; chmod 600 FILE");
  }
  auto home = troupe_home();
  if (!home) return Failure(home.error());
  const auto path = *home / ".secret";  // no job can have that name
  if (auto made = make_secret_once(path); !made) return Failure(made.error());
  return ClusterSecret::from_file(path.string());
}

}  // namespace troupe
