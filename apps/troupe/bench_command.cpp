// SPDX-License-Identifier: Apache-2.0
//
// `troupe bench NAME`: each benchmark is a program of its own, troupe-bench-NAME beside this one,
// since what it measures may be linked with what `troupe` must not be.
#include "apps/troupe/commands.hpp"
#include "messages/reflect.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace troupe {
namespace {

const std::string prefix = "troupe-bench-";
const std::string rival = "basp";  // not a benchmark but what one of them starts to compare with

std::filesystem::path program_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

std::vector<std::string> benchmarks_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto file = entry.path().filename().string();
    if (file.rfind(prefix, 0) != 0 || ::access(entry.path().c_str(), X_OK) != 0) continue;
    if (const auto name = file.substr(prefix.size()); name != rival) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

int bench_command(const BenchOptions& options) {
  const auto folder = program_folder();
  const auto names = benchmarks_in(folder);
  if (std::find(names.begin(), names.end(), options.name) == names.end()) {
    const auto hint = names.empty() ? "; there are none in " + folder.string()
                                    : did_you_mean(options.name, names);
    std::fprintf(stderr, "troupe bench: no benchmark '%s'%s\n", options.name.c_str(), hint.c_str());
    return 2;
  }
  std::vector<std::string> words = {folder / (prefix + options.name), "-o",
                                    options.output == Output::json ? "json" : "table"};
  if (options.thorough) words.emplace_back("--long");
  if (options.quick) words.emplace_back("--quick");
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  std::fprintf(stderr, "troupe bench: cannot start %s: %s\n", arguments[0], std::strerror(errno));
  return 1;
}

}  // namespace troupe
