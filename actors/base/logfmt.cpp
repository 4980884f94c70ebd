// SPDX-License-Identifier: Apache-2.0
#include "actors/base/logfmt.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace troupe {
namespace {

constexpr std::string_view jobs = "/jobs/";

bool is_plain(std::string_view value) {
  return !value.empty() && std::all_of(value.begin(), value.end(), [](char c) {
    return c > ' ' && c != '"' && c != '=' && c != '\\' && c != '\x7f';
  });
}

void append_quoted(std::string& line, std::string_view value) {
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  line += '"';
}

void append(std::string& line, std::string_view key, std::string_view value) {
  if (!line.empty()) line += ' ';
  line += key;
  line += '=';
  if (is_plain(value)) {
    line += value;
  } else {
    append_quoted(line, value);
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/// Takes a value off the front of `rest`; false where a quote is never closed.
bool take_value(std::string_view& rest, std::string& value) {
  value.clear();
  if (rest.empty() || rest.front() != '"') {
    const auto end = std::min(rest.find(' '), rest.size());
    value = rest.substr(0, end);
    rest.remove_prefix(end);
    return true;
  }
  for (std::size_t i = 1; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return true;
    }
    if (rest[i] != '\\' || i + 1 >= rest.size()) {
      value += rest[i];
    } else if (const char next = rest[++i]; next == 'n') {
      value += '\n';
    } else if (next == 'x' && i + 2 < rest.size() && hex_digit(rest[i + 1]) >= 0 &&
               hex_digit(rest[i + 2]) >= 0) {
      value += static_cast<char>(hex_digit(rest[i + 1]) * 16 + hex_digit(rest[i + 2]));
      i += 2;
    } else {
      value += next;
    }
  }
  return false;
}

bool is_path_word(std::string_view word) {
  return !word.empty() && word.size() <= 100 && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::string to_logfmt(const LogRecord& record) {
  std::string line;
  append(line, "ts", format_time(record.time));
  append(line, "level", record.level);
  append(line, "node", record.node);
  if (!record.actor.empty()) append(line, "actor", record.actor);
  if (record.trace != 0) append(line, "trace", fmt::format("{:016x}", record.trace));
  line += " msg=";
  append_quoted(line, record.message);
  return line;
}

std::optional<std::string> logfmt_value(std::string_view line, std::string_view key) {
  if (line.substr(0, 3) != "ts=") return std::nullopt;
  std::string value;
  while (!line.empty()) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const auto name = line.substr(0, equals);
    line.remove_prefix(equals + 1);
    if (!take_value(line, value)) return std::nullopt;
    if (name == key) return value;
    if (!line.empty()) line.remove_prefix(1);  // the blank
  }
  return std::nullopt;
}

std::string format_time(std::chrono::system_clock::time_point time) {
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

std::optional<std::int64_t> parse_time_ms(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) return std::nullopt;
  std::int64_t ms = 0;
  if (*rest == '.') {
    std::int64_t unit = 100;
    for (++rest; *rest >= '0' && *rest <= '9'; ++rest, unit /= 10) ms += (*rest - '0') * unit;
  }
  if (*rest == 'Z') ++rest;
  if (*rest != '\0') return std::nullopt;
  return static_cast<std::int64_t>(::timegm(&parts)) * 1000 + ms;
}

std::optional<std::int64_t> line_time_ms(std::string_view line) {
  if (line.substr(0, 3) != "ts=") return std::nullopt;
  line.remove_prefix(3);
  return parse_time_ms(line.substr(0, line.find(' ')));
}

std::string job_of(std::string_view actor) {
  if (actor.substr(0, jobs.size()) != jobs) return {};
  actor.remove_prefix(jobs.size());
  return std::string(actor.substr(0, actor.find('/')));
}

std::optional<std::filesystem::path> log_file_of(std::string_view actor) {
  const auto job = job_of(actor);
  if (!is_path_word(job) || actor.size() > 1000) return std::nullopt;
  auto rest = actor.substr(jobs.size() + job.size());
  if (rest.empty()) return std::filesystem::path("job.supervisor.log");
  std::filesystem::path file;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const auto word = rest.substr(0, rest.find('/'));
    if (!is_path_word(word)) return std::nullopt;
    rest.remove_prefix(word.size());
    file /= word;
  }
  file += ".log";
  return file;
}

}  // namespace troupe
