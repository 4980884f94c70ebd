// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/digits/data_file.hpp"

#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

namespace troupe::digits {
namespace {

namespace fs = std::filesystem;

void touch(const fs::path& file) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << "x";
}

// A prefix with a program and its data, and a build's folder.
struct Fixture {
  test::Scratch scratch;
  fs::path installed = scratch / "prefix/share/troupe/data/digits.csv.gz";
  fs::path built = scratch / "source/data/digits.csv.gz";
  DataPlaces places{"", "", scratch / "prefix/bin", scratch / "source/data"};

  [[nodiscard]] std::string found() const { return find_data(places).value_or("nothing"); }
};

BOOST_FIXTURE_TEST_SUITE(data_file, Fixture)

BOOST_AUTO_TEST_CASE(the_data_beside_the_program_comes_before_the_builds) {
  touch(built);
  BOOST_TEST(found() == built.string());
  touch(installed);
  BOOST_TEST(found() == installed.string());
}

BOOST_AUTO_TEST_CASE(the_variable_comes_before_both_and_the_graph_before_all) {
  touch(built);
  touch(installed);
  touch(scratch / "mine/digits.csv.gz");
  places.variable = (scratch / "mine").string();
  BOOST_TEST(found() == (scratch / "mine/digits.csv.gz").string());
  places.asked = (scratch / "named.csv.gz").string();
  BOOST_TEST(found() == places.asked);
}

BOOST_AUTO_TEST_CASE(where_there_is_none_the_error_names_all_places_and_the_way_out) {
  const auto file = find_data(places);
  BOOST_REQUIRE(!file);
  for (const auto& part : {installed.string(), built.string(), std::string("TROUPE_DATA")}) {
    BOOST_TEST(file.error().what.find(part) != std::string::npos, part);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::digits
