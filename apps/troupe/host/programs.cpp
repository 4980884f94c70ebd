// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/programs.hpp"

#include <unistd.h>

#include <filesystem>

namespace troupe {

Result<std::string> find_program(const std::string& name) {
  std::error_code error;
  std::filesystem::path path = name;
  if (name.find('/') == std::string::npos) {
    path = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / name;
  }
  if (::access(path.c_str(), X_OK) != 0) {
    return fail(ErrorCode::not_found,
                "there is no program " + path.string() +
                    "; build it (cmake --build --preset release), or name another one by the "
                    "actor's key 'binary'");
  }
  return path.string();
}

}  // namespace troupe
