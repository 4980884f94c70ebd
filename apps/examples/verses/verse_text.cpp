// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/verses/verse_text.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace troupe::verses {
namespace {

constexpr std::size_t largest = std::size_t{16} << 20U;
constexpr std::size_t expected_verses = 7957;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// All of a stream; nothing where it is longer than any text of ours.
Result<std::string> read_all(std::FILE* from, const std::string& name) {
  std::string text;
  char chunk[1U << 16U];
  std::size_t n = 0;
  while ((n = std::fread(chunk, 1, sizeof chunk, from)) > 0) {
    text.append(chunk, n);
    if (text.size() > largest) return fail(ErrorCode::corrupt, name + ": longer than 16 MiB");
  }
  if (std::ferror(from) != 0) {
    return fail(ErrorCode::unavailable, name + ": " + std::strerror(errno));
  }
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace

std::vector<std::int64_t> tokens_of(const std::string& text, std::size_t longest) {
  std::vector<std::int64_t> out;
  for (const char c : text.substr(0, longest)) {
    out.push_back((c < ' ' || c > '~' ? '?' : c) - ' ' + 1);
  }
  return out;
}

Result<std::vector<std::string>> read_lines(const std::string& file) {
  errno = 0;
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::unavailable,
                file + ": " + std::strerror(errno));
  }
  const auto text = read_all(stream.get(), file);
  if (!text) return Failure(text.error());
  auto lines = lines_of(*text);
  if (lines.empty()) return fail(ErrorCode::corrupt, file + ": no lines to learn from");
  return lines;
}

Result<std::vector<std::string>> print_verses(const std::string& command) {
  std::FILE* const pipe = ::popen((command + " < /dev/null 2> /dev/null").c_str(), "re");
  if (pipe == nullptr) return fail(ErrorCode::unavailable, command + ": " + std::strerror(errno));
  const auto text = read_all(pipe, command);
  const int status = ::pclose(pipe);
  if (!text) return Failure(text.error());
  auto verses = lines_of(*text);
  if (status != 0 || verses.size() != expected_verses) {
    return fail(ErrorCode::unavailable,
                "\"" + command + "\" gave " + std::to_string(verses.size()) +
                    " verses instead of " + std::to_string(expected_verses) +
                    (WIFEXITED(status) ? ", exit status " + std::to_string(WEXITSTATUS(status))
                                       : std::string()) +
                    "; install Debian's bible-kjv, or name a text file by the key 'data'");
  }
  for (std::string& verse : verses) verse.erase(0, verse.find(' ') + 1);  // "Mat1:1 "
  return verses;
}

}  // namespace troupe::verses
