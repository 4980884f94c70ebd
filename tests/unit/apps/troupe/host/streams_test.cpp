// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/streams.hpp"

#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(streams)

BOOST_AUTO_TEST_CASE(lines_are_in_the_file_as_soon_as_they_are_written) {
  const test::Scratch scratch;
  auto file = LineFile::open(scratch / "lines");
  BOOST_TEST(file.write("one"));
  BOOST_TEST(file.write("two"));
  BOOST_TEST(file.status().has_value());
  std::ifstream in(scratch / "lines");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  BOOST_TEST(text == "one\ntwo\n");
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_told_once_with_the_files_name) {
  auto file = LineFile::open("/dev/full");
  BOOST_TEST(!file.write("lost"));
  BOOST_TEST(file.write("lost too"));
  BOOST_REQUIRE(!file.status());
  BOOST_TEST(file.status().error().what == "/dev/full: No space left on device");
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_made_is_an_error_and_no_crash) {
  auto file = LineFile::open("/nonexistent/lines");
  BOOST_REQUIRE(!file.status());
  BOOST_TEST(file.status().error().what == "/nonexistent/lines: No such file or directory");
  BOOST_TEST(file.write("lost"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
