// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/run_directory.hpp"

#include "apps/troupe/host/secrets.hpp"
#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

unsigned mode(const fs::path& path) {
  return static_cast<unsigned>(fs::status(path).permissions());
}

struct Fixture {
  void home(const fs::path& path) const { ::setenv("TROUPE_HOME", path.c_str(), 1); }
  ~Fixture() { ::unsetenv("TROUPE_HOME"); }
  test::Scratch scratch;
};

BOOST_FIXTURE_TEST_SUITE(run_directory, Fixture)

BOOST_AUTO_TEST_CASE(a_home_that_is_not_there_is_made_for_its_owner_alone) {
  home(scratch / "above/home/");
  BOOST_REQUIRE(troupe_home());
  BOOST_TEST(mode(scratch / "above/home") == 0700u);
  const auto run = make_run_directory("digits");
  BOOST_REQUIRE(run);
  BOOST_TEST(mode(*run) == 0700u);
}

BOOST_AUTO_TEST_CASE(a_home_that_is_there_keeps_its_mode) {
  fs::create_directory(scratch / "home");
  fs::permissions(scratch / "home", static_cast<fs::perms>(0755));
  home(scratch / "home");
  BOOST_REQUIRE(make_run_directory("digits"));
  BOOST_TEST(mode(scratch / "home") == 0755u);
}

BOOST_AUTO_TEST_CASE(a_home_that_cannot_be_is_told_with_its_reason) {
  std::ofstream(scratch / "file") << "x";
  home(scratch / "file");
  BOOST_TEST(troupe_home().error().what.find("Not a directory") != std::string::npos);
  home(scratch / "file/home");
  BOOST_TEST(troupe_home().error().what.find("Not a directory") != std::string::npos);
  home("/proc/home");
  BOOST_TEST(troupe_home().error().what.find("/proc/home: No such file") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_job_may_be_called_secret_before_and_after_there_is_one) {
  home(scratch / "home");
  BOOST_TEST(make_run_directory("secret").has_value());
  BOOST_TEST(find_secret("", {"127.0.0.1", 0}).has_value());
  BOOST_TEST(make_run_directory("secret").has_value());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
