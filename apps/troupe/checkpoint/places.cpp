// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/checkpoint/places.hpp"

#include "actors/control/graph_load.hpp"
#include "apps/troupe/host/run_directory.hpp"
#include "gpu/easyscale/checkpoint/store_link.hpp"

#include <algorithm>
#include <iterator>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using easyscale::ListedCheckpoint;

constexpr int deepest = 8;  // folders of groups within folders
constexpr const char* graph_name = "graph.toml";

// A folder, and those below it that are no checkpoints, hold checkpoints.
Result<void> collect(const fs::path& folder, int depth, std::vector<ListedCheckpoint>& into) {
  auto here = easyscale::list_checkpoints(folder);
  if (!here) return Failure(here.error());
  std::vector<fs::path> below;
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    std::error_code ignored;
    if (!fs::is_directory(entries->symlink_status(ignored))) continue;
    const bool listed = std::any_of(here->begin(), here->end(),
                                    [&](const auto& one) { return one.folder == entries->path(); });
    if (!listed) below.push_back(entries->path());
  }
  std::move(here->begin(), here->end(), std::back_inserter(into));
  if (depth == deepest) return {};
  std::sort(below.begin(), below.end());
  for (const fs::path& one : below) {
    if (auto ok = collect(one, depth + 1, into); !ok) return ok;
  }
  return {};
}

}  // namespace

Result<fs::path> find_place(const std::string& word) {
  std::error_code ignored;
  if (fs::is_directory(word, ignored)) return fs::path(word);
  if (const auto home = troupe_home(); home && fs::is_directory(*home / word, ignored)) {
    return *home / word;
  }
  return fail(ErrorCode::not_found, word + ": there is no such folder");
}

Result<fs::path> checkpoints_of(const fs::path& place, const ActorKinds& kinds) {
  std::error_code ignored;
  if (!fs::exists(place / graph_name, ignored)) return place;
  const auto loaded = load_graph(place / graph_name, {}, kinds);
  if (!loaded) return Failure(loaded.error());
  return place / std::string(loaded->graph().getApp().getCheckpointDir());
}

Result<std::vector<ListedCheckpoint>> all_checkpoints(const std::string& word,
                                                      const ActorKinds& kinds) {
  const auto place = find_place(word);
  if (!place) return Failure(place.error());
  const auto root = checkpoints_of(*place, kinds);
  if (!root) return Failure(root.error());
  std::vector<ListedCheckpoint> found;
  std::error_code ignored;
  if (fs::exists(*root / easyscale::manifest_name, ignored)) {
    ListedCheckpoint one{*root, 0, 0, std::nullopt, {}};
    auto manifest = easyscale::open_checkpoint(*root);
    if (manifest) {
      one.step = manifest->step;
      one.manifest = std::move(*manifest);
    } else {
      one.why = manifest.error();
    }
    found.push_back(std::move(one));
    return found;
  }
  if (auto ok = collect(*root, 0, found); !ok) return Failure(ok.error());
  return found;
}

}  // namespace troupe
