// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/secrets.hpp"

#include "actors/base/atomic_file.hpp"
#include "actors/net/control_connection.hpp"
#include "apps/troupe/run_directory.hpp"

#include <filesystem>

namespace troupe {

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
  const auto path = *home / "secret";
  if (!std::filesystem::exists(path)) {
    if (auto made = write_file_atomically(path, ClusterSecret::random().text() + "\n"); !made) {
      return Failure(made.error());
    }
  }
  return ClusterSecret::from_file(path.string());
}

}  // namespace troupe
