// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/succession.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {

Succession succeed(const std::vector<FoundLife>& found) {
  Succession what;
  if (found.empty()) return what;
  const auto owned =
      std::find_if(found.begin(), found.end(), [](const FoundLife& life) { return !life.orphan; });
  if (owned != found.end()) {
    what.waits_for = "its owner to be gone: it lives on node " + owned->host.name;
    return what;
  }
  const auto latest =
      std::max_element(found.begin(), found.end(), [](const FoundLife& a, const FoundLife& b) {
        return std::tie(a.life, a.host) < std::tie(b.life, b.host);
      });
  if (!latest->ready) {
    what.waits_for = "node " + latest->host.name + ", where it is starting or ending";
    return what;
  }
  what.adopt = *latest;
  std::copy_if(found.begin(), found.end(), std::back_inserter(what.end),
               [&](const FoundLife& life) { return life != *latest; });
  return what;
}

}  // namespace troupe
