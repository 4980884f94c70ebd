// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/digits/digits_csv.hpp"

#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace troupe::digits {
namespace {

class ScratchFolder : public test::Scratch {
 public:
  [[nodiscard]] std::string file(const std::string& name) const { return (*this / name).string(); }

  [[nodiscard]] std::string packed(const std::string& text) const {
    const std::string name = file("digits.csv.gz");
    const gzFile out = ::gzopen(name.c_str(), "wb");
    BOOST_REQUIRE(::gzwrite(out, text.data(), static_cast<unsigned>(text.size())) > 0);
    BOOST_REQUIRE(::gzclose(out) == Z_OK);
    return name;
  }
};

namespace fs = std::filesystem;

std::string line(const std::string& first = "0", const std::string& label = "3") {
  std::string out = first;
  for (std::size_t i = 1; i < pixels; ++i) out += "," + std::to_string(i % 17);
  return out + "," + label + "\n";
}

std::string rows(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += line();
  return out;
}

std::string trouble(const std::string& file) {
  const auto digits = read_digits(file);
  return digits ? "" : digits.error().what;
}

BOOST_AUTO_TEST_CASE(all_rows_are_read) {
  const ScratchFolder folder;
  const auto digits = read_digits(folder.packed(rows(expected_rows)));
  BOOST_REQUIRE_MESSAGE(digits, test::why(digits));
  BOOST_TEST(digits->size() == expected_rows);
  BOOST_TEST(digits->back().image[63] == 63 % 17);
  BOOST_TEST(digits->back().label == 3);
}

BOOST_AUTO_TEST_CASE(a_missing_file_says_how_to_get_it) {
  const ScratchFolder folder;
  const std::string file = folder.file("digits.csv.gz");
  BOOST_TEST(trouble(file) ==
             file + ": No such file or directory; deploy/setup fetches the digits");
}

BOOST_AUTO_TEST_CASE(a_file_cut_short_is_told_from_a_whole_one) {
  const ScratchFolder folder;
  const std::string file = folder.packed(rows(expected_rows));
  fs::resize_file(file, fs::file_size(file) - 20);
  BOOST_TEST(trouble(file) == file + ": cut short; delete it, and deploy/setup fetches it again");
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_an_error) {
  const ScratchFolder folder;
  const std::string file = folder.packed(rows(expected_rows));
  std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(static_cast<std::streamoff>(fs::file_size(file) / 2));
  bytes.write("XXXXXXXX", 8);
  bytes.close();
  BOOST_TEST(trouble(file).starts_with(file + ":"));
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_named_with_its_column) {
  const ScratchFolder folder;
  const auto at_line_2 = [&](const std::string& bad) {
    const std::string file = folder.packed(line() + bad + rows(expected_rows));
    const std::string what = trouble(file);
    BOOST_REQUIRE(what.starts_with(file + ":2: "));
    return what.substr(file.size() + 4);
  };
  BOOST_TEST(at_line_2("1,2,3\n") == "3 columns instead of 65 (64 pixels and a label)");
  BOOST_TEST(at_line_2("0," + line()) == "66 columns instead of 65 (64 pixels and a label)");
  BOOST_TEST(at_line_2("\n") == "1 columns instead of 65 (64 pixels and a label)");
  BOOST_TEST(at_line_2(line("x")) == "column 1 is \"x\", which is no whole number");
  BOOST_TEST(at_line_2(line("1.5")) == "column 1 is \"1.5\", which is no whole number");
  BOOST_TEST(at_line_2(line("")) == "column 1 is \"\", which is no whole number");
  BOOST_TEST(at_line_2(line("17")) == "column 1 is 17, outside 0 .. 16");
  BOOST_TEST(at_line_2(line("-1")) == "column 1 is -1, outside 0 .. 16");
  BOOST_TEST(at_line_2(line("99999999999")) == "column 1 is 99999999999, outside 0 .. 16");
  BOOST_TEST(at_line_2(line("0", "10")) == "the label is 10, outside 0 .. 9");
}

BOOST_AUTO_TEST_CASE(too_few_rows_and_far_too_much_text_are_errors) {
  const ScratchFolder folder;
  const std::string few = folder.packed(rows(10));
  BOOST_TEST(trouble(few) == few + ":10: ends after 10 digits instead of 1797");
  const std::string much = folder.packed(std::string(9U << 20U, '1'));
  BOOST_TEST(trouble(much) == much + ": longer than 8 MiB: not the digits");
}

}  // namespace
}  // namespace troupe::digits
