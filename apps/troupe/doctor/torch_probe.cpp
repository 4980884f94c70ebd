// SPDX-License-Identifier: Apache-2.0
// This program links no torch (0.45 s and 164 MB a start): it asks the one that does.
#include "apps/troupe/doctor/probes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

extern char** environ;

namespace troupe::doctor {
namespace {

constexpr std::size_t max_answer = 65536;

std::filesystem::path find_program(const std::filesystem::path& folder, const std::string& name) {
  std::vector<std::filesystem::path> folders = {folder};
  const char* path = std::getenv("PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    folders.emplace_back(rest.substr(0, colon));
    rest.erase(0, colon == std::string::npos ? colon : colon + 1);
  }
  for (const auto& candidate : folders) {
    const auto program = candidate / name;
    if (access(program.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(program))
      return program;
  }
  return {};
}

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  while (text.size() < max_answer) {
    const auto n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

// Runs `program argument` and takes what it prints; the error says how it ended.
std::string ask(const std::filesystem::path& program, const char* argument, std::string& error) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    error = std::strerror(errno);
    return {};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  std::string name = program.string(), option = argument;
  char* argv[] = {name.data(), option.data(), nullptr};
  pid_t child = -1;
  const int failed = posix_spawn(&child, name.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  const auto text = failed == 0 ? read_to_end(ends[0]) : std::string();
  close(ends[0]);
  int status = 0;
  if (failed != 0) {
    error = std::strerror(failed);
  } else if (waitpid(child, &status, 0) == child && status != 0) {
    error = WIFSIGNALED(status) ? std::string("ended by ") + strsignal(WTERMSIG(status))
                                : "exit status " + std::to_string(WEXITSTATUS(status));
  }
  return text;
}

// Splits "a=1 b=two words\nc=3" into pairs; a word without '=' belongs to the value before it.
std::map<std::string, std::string> pairs_in(std::string_view text) {
  std::map<std::string, std::string> pairs;
  std::string key;
  while (!text.empty()) {
    const auto end = text.find_first_of(" \n\r\t");
    const auto word = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const auto equals = word.find('=');
    if (equals != std::string_view::npos) {
      key = word.substr(0, equals);
      pairs[key] = word.substr(equals + 1);
    } else if (!word.empty() && !key.empty()) {
      pairs[key] += " " + std::string(word);
    }
  }
  return pairs;
}

}  // namespace

TorchFacts parse_about(std::string_view text) {
  auto pairs = pairs_in(text.substr(0, max_answer));
  TorchFacts facts;
  facts.program = true;
  facts.version = pairs["torch"];
  facts.blas = pairs["blas"];
  facts.capability = pairs["capability"];
  facts.threads = pairs["threads"];
  if (facts.version.empty()) facts.error = "its answer names no torch version";
  return facts;
}

TorchFacts look_at_torch(const std::filesystem::path& folder) {
  const auto program = find_program(folder, "troupe-train");
  if (program.empty()) return {};
  std::string error;
  auto facts = parse_about(ask(program, "--about", error));
  if (!error.empty()) facts.error = error;
  return facts;
}

Findings explain(const TorchFacts& facts) {
  if (!facts.program) {
    return {{"torch", Verdict::missing, "troupe-train is neither beside troupe nor on PATH",
             "nothing can be trained from here; build or install troupe-train"}};
  }
  if (!facts.error.empty()) {
    return {{"torch", Verdict::missing, "troupe-train --about: " + facts.error,
             "nothing can be trained from here; run troupe-train --about to see why"}};
  }
  Findings findings = {{"torch", Verdict::ok, facts.version, "models can be trained here"}};
  const bool slow = facts.blas.empty() || facts.blas == "none" || facts.blas == "generic";
  findings.push_back({"torch blas", slow ? Verdict::note : Verdict::ok,
                      facts.blas.empty() ? "unknown" : facts.blas,
                      slow
                          ? "matrix products may be many times slower; install libopenblas0-pthread"
                          : "matrix products run at full speed"});
  findings.push_back({"torch cpu", Verdict::ok,
                      facts.capability + ", " + facts.threads + " threads",
                      "a machine of another capability computes other bits"});
  return findings;
}

}  // namespace troupe::doctor
