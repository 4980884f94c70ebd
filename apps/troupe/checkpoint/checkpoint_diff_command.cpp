// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/checkpoint/element_diff.hpp"
#include "apps/troupe/checkpoint/places.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>

namespace troupe {
namespace {

using easyscale::index_text;

// Of a place with several the newest; where they are of several groups the user must say which.
Result<OpenCheckpoint> open_one(const std::string& word, const ActorKinds& kinds) {
  auto found = all_checkpoints(word, kinds);
  if (!found) return Failure(found.error());
  easyscale::ListedCheckpoint* best = nullptr;
  for (auto& one : *found) {
    if (!one.manifest) continue;
    if (best != nullptr && best->folder.parent_path() != one.folder.parent_path()) {
      return fail(ErrorCode::invalid_argument,
                  word + ": there are checkpoints of several groups; name one of " +
                      best->folder.parent_path().string() + ", " +
                      one.folder.parent_path().string());
    }
    best = &one;
  }
  if (best != nullptr) return OpenCheckpoint{best->folder, std::move(*best->manifest)};
  const std::string why = found->empty() ? "" : ": " + found->back().why.what;
  return fail(ErrorCode::not_found, word + ": no checkpoint that can be read" + why);
}

struct Comparison {
  OpenCheckpoint a;
  OpenCheckpoint b;
  std::vector<TensorDifference> differences;

  [[nodiscard]] const TensorDifference* largest() const {
    const TensorDifference* best = nullptr;
    const auto size = [](const TensorDifference& one) {
      const double d = std::abs(one.largest->a - one.largest->b);
      return std::isnan(d) ? INFINITY : d;
    };
    for (const auto& one : differences) {
      if (one.largest && (best == nullptr || size(one) > size(*best))) best = &one;
    }
    return best;
  }
};

Result<Comparison> compare(const CheckpointDiffOptions& options, const ActorKinds& kinds) {
  auto a = open_one(options.a, kinds);
  if (!a) return Failure(a.error());
  auto b = open_one(options.b, kinds);
  if (!b) return Failure(b.error());
  Comparison out{std::move(*a), std::move(*b), {}};
  std::vector<std::string> names;
  for (const auto& tensor : out.a.manifest.tensors) names.push_back(tensor.info.name);
  for (const auto& tensor : out.b.manifest.tensors) {
    if (out.a.manifest.find(tensor.info.name) == nullptr) names.push_back(tensor.info.name);
  }
  for (const std::string& name : names) {
    auto difference = compare_tensor(out.a, out.b, name);
    if (!difference) return Failure(difference.error());
    if (*difference) out.differences.push_back(std::move(**difference));
  }
  return out;
}

TableRow row(const std::string& what, const TensorDifference& one,
             const std::optional<easyscale::ElementDifference>& element) {
  if (!element) return {what, one.tensor, one.what, "", "", ""};
  return {what,
          one.tensor,
          index_text(element->element, one.shape),
          number_text(element->a),
          number_text(element->b),
          number_text(std::abs(element->a - element->b))};
}

std::string as_table(const Comparison& it) {
  std::vector<TableRow> rows;
  if (!it.differences.empty())
    rows.push_back(row("first", it.differences.front(), it.differences.front().first));
  if (const auto* largest = it.largest())
    rows.push_back(row("largest", *largest, largest->largest));
  return format_table({"WHICH", "TENSOR", "ELEMENT", "FIRST", "SECOND", "DIFFERENCE"}, rows);
}

std::string as_json(const Comparison& it) {
  Json::Object out{{"equal", it.differences.empty()},
                   {"a", it.a.folder.string()},
                   {"b", it.b.folder.string()},
                   {"differing_tensors", static_cast<std::int64_t>(it.differences.size())}};
  std::int64_t elements = 0;
  for (const auto& one : it.differences) elements += static_cast<std::int64_t>(one.elements);
  out.emplace_back("differing_elements", elements);
  if (!it.differences.empty()) {
    const auto& first = it.differences.front();
    out.emplace_back("first", first.first
                                  ? as_json(first, *first.first)
                                  : Json::Object{{"tensor", first.tensor}, {"what", first.what}});
  }
  if (const auto* largest = it.largest()) {
    out.emplace_back("largest", as_json(*largest, *largest->largest));
  }
  return to_text(out) + "\n";
}

}  // namespace

int checkpoint_diff_command(const CheckpointDiffOptions& options, const ActorKinds& kinds) {
  const auto it = compare(options, kinds);
  if (!it) {
    std::fprintf(stderr, "%s checkpoint diff: %s\n", program_invocation_short_name,
                 it.error().what.c_str());
    return 1;
  }
  std::string text;
  if (options.output == Output::json) {
    text = as_json(*it);
  } else if (options.output == Output::name) {
    for (const auto& one : it->differences) text += one.tensor + "\n";
  } else {
    text = as_table(*it);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  const auto tensors = std::max(it->a.manifest.tensors.size(), it->b.manifest.tensors.size());
  const auto verdict = it->differences.empty() ? fmt::format("equal: all {} tensors\n", tensors)
                                               : fmt::format("{} of {} tensors differ\n",
                                                             it->differences.size(), tensors);
  std::fputs(verdict.c_str(), stderr);
  return it->differences.empty() ? 0 : 1;
}

}  // namespace troupe
