// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/digits/data_file.hpp"

#include <cstdlib>
#include <system_error>

namespace troupe::digits {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "digits.csv.gz";

fs::path within(const fs::path& place) {
  std::error_code ignored;
  return fs::is_directory(place, ignored) ? place / file_name : place;
}

}  // namespace

DataPlaces data_places(const std::string& asked) {
  const char* variable = std::getenv("TROUPE_DATA");
  std::error_code ignored;
  return {asked, variable == nullptr ? "" : variable,
          fs::read_symlink("/proc/self/exe", ignored).parent_path(), TROUPE_DATA_DIR};
}

Result<std::string> find_data(const DataPlaces& places) {
  // What somebody has named is taken as it is: reading it says what is wrong with it.
  if (!places.asked.empty()) return within(places.asked).string();
  if (!places.variable.empty()) return within(places.variable).string();
  const auto installed =
      (places.program / ".." / "share" / "troupe" / "data" / file_name).lexically_normal();
  const auto built = places.built / file_name;
  std::error_code ignored;
  for (const auto& candidate : {installed, built}) {
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return fail(ErrorCode::not_found,
              "there is neither " + installed.string() + " nor " + built.string() +
                  "; deploy/setup fetches it; or name its folder by the variable TROUPE_DATA, or "
                  "the file by the key 'data' of the actor's args");
}

}  // namespace troupe::digits
