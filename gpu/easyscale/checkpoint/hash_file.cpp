// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/hash_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace troupe::easyscale {
namespace {

constexpr std::size_t hash_digits = 64;
constexpr std::size_t longest_line = 2048;

struct Line {
  HashKey key;
  std::string tensor;
  std::string sha256;
};

std::optional<Line> parse_line(std::string_view line) {
  std::array<std::string_view, 4> words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto blank = i + 1 < words.size() ? line.find(' ') : line.size();
    if (blank == std::string_view::npos || blank == 0) return std::nullopt;
    words.at(i) = line.substr(0, blank);
    line.remove_prefix(std::min(line.size(), blank + 1));
  }
  Line out;
  const auto* end = words[0].data() + words[0].size();
  const auto [at, error] = std::from_chars(words[0].data(), end, out.key.second);
  const bool is_hash = words[3].size() == hash_digits &&
                       words[3].find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (error != std::errc() || at != end || !is_hash || !is_tensor_name(words[2])) {
    return std::nullopt;
  }
  out.key.first = words[1];
  out.tensor = words[2];
  out.sha256 = words[3];
  return out;
}

// Two lists of tensors: the first name that differs in its hash, or that one of them lacks.
std::optional<std::string> first_difference(const StepHashes& a, const StepHashes& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] != b[i]) return a[i].first;
  }
  if (a.size() == b.size()) return std::nullopt;
  return a.size() > b.size() ? a[b.size()].first : b[a.size()].first;
}

}  // namespace

std::string hash_line(std::uint64_t step, std::string_view group, std::string_view tensor,
                      std::string_view sha256) {
  std::string line = std::to_string(step);
  for (const auto word : {group, tensor, sha256}) line.append(" ").append(word);
  return line;
}

Result<RunHashes> parse_hashes(std::string_view text) {
  RunHashes out;
  const HashKey* last = nullptr;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) break;
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const auto wrong = [&](ErrorCode code, const std::string& what) {
      return fail(code, "line " + std::to_string(number) + ": " + what);
    };
    if (number == 1) {
      if (line == hash_file_head) continue;
      const bool newer = line.rfind("troupe-hashes ", 0) == 0 && line.size() < 64;
      return newer ? wrong(ErrorCode::version_mismatch, "format \"" + std::string(line) +
                                                            "\"; this program reads \"" +
                                                            std::string(hash_file_head) + "\"")
                   : wrong(ErrorCode::corrupt, "this is no file of hashes");
    }
    auto parsed = line.size() > longest_line ? std::nullopt : parse_line(line);
    if (!parsed) return wrong(ErrorCode::corrupt, "not STEP GROUP TENSOR SHA256");
    const auto [at, is_new] = out.try_emplace(parsed->key);
    if (!is_new && last != &at->first) at->second.clear();
    last = &at->first;
    const bool again = !at->second.empty() && at->second.front().first == parsed->tensor;
    if (again) at->second.clear();  // the same step twice in a row
    at->second.emplace_back(std::move(parsed->tensor), std::move(parsed->sha256));
  }
  return out;
}

HashComparison compare_hashes(const RunHashes& a, const RunHashes& b) {
  HashComparison out;
  std::map<std::string, std::uint64_t> equal;
  for (const auto& [key, hashes] : a) {
    const auto other = b.find(key);
    if (other == b.end()) continue;
    ++out.steps;
    const auto tensor = first_difference(hashes, other->second);
    if (!tensor) {
      const bool before = !out.first || key.second < out.first->step;
      if (before) equal[key.first] = key.second;
    } else if (!out.first || key.second < out.first->step) {
      out.first = {key.first, key.second, *tensor};
    }
  }
  if (!out.first) return out;
  const auto at = equal.find(out.first->group);
  if (at != equal.end() && at->second < out.first->step) out.last_equal = at->second;
  return out;
}

}  // namespace troupe::easyscale
