// SPDX-License-Identifier: Apache-2.0
#include "actors/base/atomic_file.hpp"

#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace troupe {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

BOOST_AUTO_TEST_CASE(replaces_the_whole_file_and_leaves_no_temporary_behind) {
  const test::Scratch scratch;
  const auto path = scratch / "state";
  BOOST_REQUIRE(write_file_atomically(path, "first, and longer"));
  BOOST_REQUIRE(write_file_atomically(path, "second"));
  BOOST_TEST(read(path) == "second");
  const std::filesystem::directory_iterator files(scratch.path());
  BOOST_TEST(std::distance(begin(files), end(files)) == 1);
}

BOOST_AUTO_TEST_CASE(pieces_follow_one_another) {
  const test::Scratch scratch;
  const std::vector<std::string_view> pieces = {"one, ", "", "two"};
  BOOST_REQUIRE(write_file_atomically(scratch / "state", pieces));
  BOOST_TEST(read(scratch / "state") == "one, two");
}

BOOST_AUTO_TEST_CASE(others_cannot_read_what_it_writes) {
  const test::Scratch scratch;
  BOOST_REQUIRE(write_file_atomically(scratch / "state", "x"));
  struct stat status {};
  BOOST_REQUIRE(::stat((scratch / "state").c_str(), &status) == 0);
  BOOST_TEST((status.st_mode & 0777) == 0600u);
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_there_is_an_error_that_names_the_file) {
  const test::Scratch scratch;
  const auto path = scratch / "missing" / "state";
  const auto written = write_file_atomically(path, "x");
  BOOST_REQUIRE(!written);
  BOOST_TEST(written.error().what.find(path.string()) != std::string::npos);
  BOOST_TEST(written.error().what.find("No such file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_write_that_fails_leaves_nothing_changed) {
  const test::Scratch scratch;
  const auto path = scratch / "state";
  BOOST_REQUIRE(write_file_atomically(path, "old"));
  // Where a folder has the target's name the rename fails.
  std::filesystem::create_directories(scratch / "blocked" / "inside");
  BOOST_TEST(!write_file_atomically(scratch / "blocked", "new"));
  BOOST_TEST(read(path) == "old");
  BOOST_TEST(std::filesystem::is_directory(scratch / "blocked"));
}

}  // namespace
}  // namespace troupe
