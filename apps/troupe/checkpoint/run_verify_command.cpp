// SPDX-License-Identifier: Apache-2.0
//
// `troupe run verify A B`: where two runs begin to differ, from the hashes that each kept of its
// states, and, where both have a checkpoint not long after, in which element.
#include "actors/base/fd.hpp"
#include "apps/troupe/checkpoint/element_diff.hpp"
#include "apps/troupe/checkpoint/places.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/table.hpp"
#include "gpu/easyscale/checkpoint/hash_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <map>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using easyscale::RunHashes;

constexpr std::size_t most_hash_bytes = 1U << 30U;

struct Run {
  fs::path folder;
  RunHashes hashes;
};

Result<Run> open_run(const std::string& word) {
  auto folder = find_place(word);
  if (!folder) return Failure(folder.error());
  const fs::path path = *folder / "hashes";
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    return fail(ErrorCode::not_found, path.string() + ": " + errno_text(errno) +
                                          " (a run keeps hashes where hash_every is not 0)");
  }
  const auto text = read_all(fd.get(), most_hash_bytes);
  if (!text) return fail_at(path.string(), text.error());
  auto hashes = easyscale::parse_hashes(*text);
  if (!hashes) return fail_at(path.string(), hashes.error());
  return Run{std::move(*folder), std::move(*hashes)};
}

// "/jobs/digits/trainers" -> "trainers"
std::string group_of(const std::string& address) {
  const auto job = address.find('/', 1);
  const auto group = job == std::string::npos ? job : address.find('/', job + 1);
  return group == std::string::npos ? address : address.substr(group + 1);
}

std::map<std::uint64_t, OpenCheckpoint> checkpoints_by_step(const Run& run,
                                                            const std::string& group,
                                                            const ActorKinds& kinds) {
  std::map<std::uint64_t, OpenCheckpoint> out;
  auto all = all_checkpoints(run.folder.string(), kinds);
  if (!all) return out;
  for (auto& one : *all) {
    if (!one.manifest || one.manifest->identity.group != group) continue;
    out.insert_or_assign(one.step, OpenCheckpoint{one.folder, std::move(*one.manifest)});
  }
  return out;
}

struct Element {
  std::uint64_t step = 0;  ///< of the checkpoints
  TensorDifference difference;
};

// In the first checkpoints that both runs have from that step on and in which the tensor differs.
std::optional<Element> find_element(const Run& a, const Run& b,
                                    const easyscale::HashDifference& where,
                                    const ActorKinds& kinds) {
  const auto group = group_of(where.group);
  const auto left = checkpoints_by_step(a, group, kinds);
  const auto right = checkpoints_by_step(b, group, kinds);
  for (const auto& [step, one] : left) {
    const auto other = right.find(step);
    if (step < where.step || other == right.end()) continue;
    auto difference = compare_tensor(one, other->second, where.tensor);
    if (!difference) {
      std::fprintf(stderr, "%s\n", difference.error().what.c_str());
    } else if (*difference && (*difference)->first) {
      return Element{step, std::move(**difference)};
    }
  }
  return std::nullopt;
}

std::string as_json(const easyscale::HashComparison& found, const std::optional<Element>& element) {
  Json::Object out{{"equal", !found.first.has_value()},
                   {"steps_compared", static_cast<std::int64_t>(found.steps)}};
  if (found.first) {
    Json::Object first{{"step", static_cast<std::int64_t>(found.first->step)},
                       {"group", found.first->group},
                       {"tensor", found.first->tensor}};
    if (found.last_equal) {
      first.emplace_back("last_equal_step", static_cast<std::int64_t>(*found.last_equal));
    }
    if (element) {
      auto one = as_json(element->difference, *element->difference.first);
      one.emplace_back("checkpoint_step", static_cast<std::int64_t>(element->step));
      first.emplace_back("element", std::move(one));
    }
    out.emplace_back("first", std::move(first));
  }
  return to_text(out) + "\n";
}

std::string as_table(const easyscale::HashDifference& first,
                     const std::optional<Element>& element) {
  TableRow row{std::to_string(first.step), first.group, first.tensor, "", "", "", ""};
  if (element) {
    const auto& at = *element->difference.first;
    row[3] = easyscale::index_text(at.element, element->difference.shape);
    row[4] = number_text(at.a);
    row[5] = number_text(at.b);
    row[6] = std::to_string(element->step);
  }
  return format_table({"STEP", "GROUP", "TENSOR", "ELEMENT", "FIRST", "SECOND", "CHECKPOINT"},
                      {row});
}

void tell(const easyscale::HashComparison& found, const std::optional<Element>& element) {
  if (!found.first) {
    std::fprintf(stderr, "equal in all %zu steps that both runs have hashes of\n", found.steps);
    return;
  }
  const auto since = found.last_equal ? fmt::format("they are equal in step {}", *found.last_equal)
                                      : std::string("no earlier step was sampled by both");
  std::fprintf(stderr, "the runs differ from step %llu on; %s\n",
               static_cast<unsigned long long>(found.first->step), since.c_str());
  if (!element) {
    std::fputs(
        "which element it is cannot be said: the runs have no checkpoints of one step from "
        "there on\n",
        stderr);
  }
}

int complain(const Error& error) {
  std::fprintf(stderr, "%s run verify: %s\n", program_invocation_short_name, error.what.c_str());
  return 1;
}

}  // namespace

int run_verify_command(const RunVerifyOptions& options, const ActorKinds& kinds) {
  const auto a = open_run(options.a);
  if (!a) return complain(a.error());
  const auto b = open_run(options.b);
  if (!b) return complain(b.error());
  const auto found = easyscale::compare_hashes(a->hashes, b->hashes);
  if (found.steps == 0) {
    return complain({ErrorCode::not_found, "the runs have no step in common that both sampled"});
  }
  std::optional<Element> element;
  if (found.first) element = find_element(*a, *b, *found.first, kinds);
  std::string text;
  if (options.output == Output::json) {
    text = as_json(found, element);
  } else if (found.first) {
    text = options.output == Output::name ? found.first->tensor + "\n"
                                          : as_table(*found.first, element);
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  tell(found, element);
  return found.first ? 1 : 0;
}

}  // namespace troupe
