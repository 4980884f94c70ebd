// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/digits/digits_csv.hpp"

#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

namespace troupe::digits {
namespace {

constexpr std::size_t largest_text = 8U << 20U;  // the real one has 0.3 MiB

struct CloseGz {
  void operator()(gzFile file) const { ::gzclose(file); }
};
using GzHandle = std::unique_ptr<gzFile_s, CloseGz>;

Result<std::string> unpack(const std::string& path) {
  errno = 0;
  const GzHandle file(::gzopen(path.c_str(), "rb"));
  if (!file) {
    return fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::unavailable,
                path + ": " + (errno != 0 ? std::strerror(errno) : "out of memory") +
                    "; deploy/setup fetches the digits");
  }
  std::string text;
  char chunk[1U << 16U];
  int n = 0;
  while ((n = ::gzread(file.get(), chunk, sizeof chunk)) > 0) {
    text.append(chunk, static_cast<std::size_t>(n));
    if (text.size() > largest_text) {
      return fail(ErrorCode::corrupt, path + ": longer than 8 MiB: not the digits");
    }
  }
  int status = Z_OK;
  const std::string what = ::gzerror(file.get(), &status);
  if (n == 0 && status == Z_OK) return text;
  return fail(ErrorCode::corrupt,
              path + (status == Z_BUF_ERROR ? std::string(": cut short") : ": damaged: " + what) +
                  "; delete it, and deploy/setup fetches it again");
}

Failure bad_line(const std::string& path, std::size_t line, const std::string& what) {
  return fail(ErrorCode::corrupt, path + ":" + std::to_string(line) + ": " + what);
}

Result<std::uint8_t> number(std::string_view word, std::uint8_t most, const std::string& column) {
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range || value < 0 || value > most) {
    return fail(ErrorCode::corrupt,
                column + " is " + std::string(word) + ", outside 0 .. " + std::to_string(most));
  }
  if (error != std::errc() || end != word.data() + word.size()) {
    return fail(ErrorCode::corrupt, column + " is \"" + std::string(word.substr(0, 32)) +
                                        "\", which is no whole number");
  }
  return static_cast<std::uint8_t>(value);
}

Result<Digit> parse_line(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t comma = line.find(','); comma != std::string_view::npos;
       comma = line.find(',')) {
    words.push_back(line.substr(0, comma));
    line.remove_prefix(comma + 1);
  }
  words.push_back(line);
  if (words.size() != pixels + 1) {
    return fail(ErrorCode::corrupt,
                std::to_string(words.size()) + " columns instead of 65 (64 pixels and a label)");
  }
  Digit digit;
  for (std::size_t i = 0; i < pixels; ++i) {
    const auto pixel = number(words[i], darkest, "column " + std::to_string(i + 1));
    if (!pixel) return Failure(pixel.error());
    digit.image[i] = *pixel;
  }
  const auto label = number(words[pixels], 9, "the label");
  if (!label) return Failure(label.error());
  digit.label = *label;
  return digit;
}

}  // namespace

Result<std::vector<Digit>> read_digits(const std::string& path) {
  const auto text = unpack(path);
  if (!text) return Failure(text.error());
  std::vector<Digit> digits;
  std::string_view rest = *text;
  std::size_t line = 0;
  while (!rest.empty()) {
    ++line;
    const std::size_t end = rest.find('\n');
    const auto digit = parse_line(rest.substr(0, end));
    if (!digit) return bad_line(path, line, digit.error().what);
    digits.push_back(*digit);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  if (digits.size() != expected_rows) {
    return bad_line(path, line,
                    "ends after " + std::to_string(digits.size()) + " digits instead of " +
                        std::to_string(expected_rows));
  }
  return digits;
}

}  // namespace troupe::digits
