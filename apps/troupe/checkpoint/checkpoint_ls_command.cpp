// SPDX-License-Identifier: Apache-2.0
//
// `troupe checkpoint ls` and `troupe checkpoint verify`: one row for each checkpoint of a place.
#include "apps/troupe/checkpoint/places.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/json.hpp"
#include "apps/troupe/table.hpp"
#include "gpu/easyscale/checkpoint/store_link.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

namespace troupe {
namespace {

using easyscale::ListedCheckpoint;

struct Row {
  ListedCheckpoint checkpoint;
  std::string state;  ///< complete, unfinished, damaged; good or bad where hashes were compared
  std::string why;
};

std::uint64_t bytes_of(const ListedCheckpoint& one) {
  std::uint64_t sum = 0;
  if (!one.manifest) return sum;
  for (const auto& file : one.manifest->files) sum += file.size;
  return sum;
}

std::string size_text(std::uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (size >= 1024 && unit + 1 < std::size(units)) {
    size /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, units[unit]);
}

Row look_at(ListedCheckpoint one, bool verify) {
  if (!one.manifest) {
    std::error_code ignored;
    const bool unfinished =
        one.why.code == ErrorCode::not_found &&
        !std::filesystem::exists(one.folder / easyscale::manifest_name, ignored);
    const std::string why = one.why.what;
    return {std::move(one), unfinished ? "unfinished" : "damaged", why};
  }
  if (!verify) return {std::move(one), "complete", ""};
  const auto good = easyscale::verify_checkpoint(one.folder, *one.manifest);
  return {std::move(one), good ? "good" : "damaged", good ? "" : good.error().what};
}

std::string as_table(const std::vector<Row>& rows) {
  std::vector<TableRow> lines;
  for (const Row& row : rows) {
    const auto& manifest = row.checkpoint.manifest;
    lines.push_back({row.checkpoint.folder.string(), std::to_string(row.checkpoint.step),
                     manifest ? std::to_string(manifest->epoch()) : "",
                     manifest ? size_text(bytes_of(row.checkpoint)) : "", row.state});
  }
  return format_table({"CHECKPOINT", "STEP", "EPOCH", "SIZE", "STATE"}, lines);
}

std::string as_json(const std::vector<Row>& rows) {
  Json::Array list;
  for (const Row& row : rows) {
    Json::Object one{{"folder", row.checkpoint.folder.string()},
                     {"step", static_cast<std::int64_t>(row.checkpoint.step)},
                     {"state", row.state}};
    if (!row.why.empty()) one.emplace_back("why", row.why);
    if (const auto& manifest = row.checkpoint.manifest) {
      one.emplace_back("epoch", static_cast<std::int64_t>(manifest->epoch()));
      one.emplace_back("bytes", static_cast<std::int64_t>(bytes_of(row.checkpoint)));
      one.emplace_back("job", manifest->identity.job);
      one.emplace_back("group", manifest->identity.group);
      one.emplace_back("program", manifest->identity.program);
      one.emplace_back("seed", static_cast<std::int64_t>(manifest->identity.seed));
      one.emplace_back("ranks", manifest->identity.ranks);
      one.emplace_back("optimizer", manifest->optimizer);
      one.emplace_back("tensors", static_cast<std::int64_t>(manifest->tensors.size()));
      one.emplace_back("version", manifest->version);
    }
    list.emplace_back(std::move(one));
  }
  return to_text(Json::Object{{"checkpoints", std::move(list)}}) + "\n";
}

std::string as_names(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) out += row.checkpoint.folder.string() + "\n";
  return out;
}

int list(const CheckpointListOptions& options, const ActorKinds& kinds, bool verify) {
  auto found = all_checkpoints(options.place, kinds);
  if (!found) {
    std::fprintf(stderr, "%s checkpoint: %s\n", program_invocation_short_name,
                 found.error().what.c_str());
    return 1;
  }
  std::vector<Row> rows;
  bool all_good = true;
  for (ListedCheckpoint& one : *found) {
    rows.push_back(look_at(std::move(one), verify));
    const Row& row = rows.back();
    if (!row.why.empty()) std::fprintf(stderr, "%s: %s\n", row.state.c_str(), row.why.c_str());
    all_good = all_good && row.why.empty();
  }
  if (rows.empty()) std::fprintf(stderr, "%s: no checkpoints\n", options.place.c_str());
  const auto text = options.output == Output::json   ? as_json(rows)
                    : options.output == Output::name ? as_names(rows)
                                                     : as_table(rows);
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!verify) return 0;
  return all_good && !rows.empty() ? 0 : 1;
}

}  // namespace

int checkpoint_ls_command(const CheckpointListOptions& options, const ActorKinds& kinds) {
  return list(options, kinds, false);
}

int checkpoint_verify_command(const CheckpointVerifyOptions& options, const ActorKinds& kinds) {
  return list(options, kinds, true);
}

}  // namespace troupe
