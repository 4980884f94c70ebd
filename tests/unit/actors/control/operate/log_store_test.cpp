// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/log_store.hpp"

#include "actors/base/logfmt.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t noon_ms = 1777636800000;

std::string line(std::int64_t ms, const std::string& text) {
  const std::chrono::system_clock::time_point time{std::chrono::milliseconds(ms)};
  return to_logfmt({time, "info", "n", "", 0, text}) + "\n";
}

struct Home {
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((scratch / file).parent_path());
    std::ofstream(scratch / file) << text;
  }
  test::Scratch scratch;
  LogStore store{scratch.path()};
};

const std::string run = "20260501-120000-77";

BOOST_AUTO_TEST_CASE(lists_the_actors_of_the_last_run_below_a_path) {
  const Home home;
  home.write("digits/20260430-120000-99/logs/trainers/0.log", "old\n");
  for (const auto* file : {"job.supervisor.log", "trainers.log", "trainers/0.log", "trainers/1.log",
                           "other/0.log", "core.1234", "no actor.log"}) {
    home.write("digits/" + run + "/logs/" + file, "x\n");
  }
  const auto all = home.store.list("digits", "", "", 100);
  BOOST_REQUIRE(all);
  BOOST_TEST(all->run == run);
  BOOST_TEST(all->actors == (std::vector<std::string>{
                                "/jobs/digits", "/jobs/digits/other/0", "/jobs/digits/trainers",
                                "/jobs/digits/trainers/0", "/jobs/digits/trainers/1"}),
             boost::test_tools::per_element());
  BOOST_TEST(home.store.list("/jobs/digits/trainers", "", "", 100)->actors.size() == 3u);
  BOOST_TEST(home.store.list("/jobs/digits/trainers/1", "", "", 100)->actors.size() == 1u);
  BOOST_TEST(home.store.list("digits", "20260430-120000-99", "", 100)->actors.size() == 1u);
  const auto first = home.store.list("digits", "", "", 2);
  BOOST_TEST(first->next == "/jobs/digits/other/0");
  BOOST_TEST(home.store.list("digits", "", first->next, 3)->actors.size() == 3u);
  BOOST_TEST(home.store.list("digits", "", first->next, 3)->next == "");
}

BOOST_AUTO_TEST_CASE(a_job_that_is_not_there_gets_those_that_are) {
  const Home home;
  home.write("digits/" + run + "/logs/trainers.log", "x\n");
  fs::create_directories(home.scratch / "empty");
  const auto none = home.store.list("digts", "", "", 100);
  BOOST_REQUIRE(none);
  BOOST_TEST(none->run == "");
  BOOST_TEST(none->jobs == std::vector<std::string>{"digits"}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_outside_of_the_log_folders_is_read) {
  const Home home;
  home.write("digits/" + run + "/hashes", "secret\n");
  home.write(".secret", "secret\n");
  fs::create_directories(home.scratch / ("digits/" + run + "/logs"));
  fs::create_symlink(home.scratch / ".secret", home.scratch / ("digits/" + run + "/logs/w.log"));
  for (const std::string actor :
       {"/jobs/digits/../hashes", "/jobs/../.secret", "/jobs/digits/w", "/jobs/digits//w", ""}) {
    BOOST_TEST(!home.store.read(actor, run, 0, 100, 0), actor);
  }
  for (const auto& bad : std::vector<std::string>{"..", "../" + run, "", "a"}) {
    BOOST_TEST(!home.store.read("/jobs/digits/w", bad, 0, 100, 0), bad);
  }
  BOOST_TEST(!home.store.list("../digits", "", "", 1));
  BOOST_TEST(test::why(home.store.list("no job", "", "", 1)).find("'no job' is neither") == 0u);
}

BOOST_AUTO_TEST_CASE(a_log_is_read_part_by_part) {
  const Home home;
  std::string whole;
  for (int i = 0; i < 1000; ++i) whole += line(noon_ms + i, "line " + std::to_string(i));
  home.write("digits/" + run + "/logs/w/0.log", whole);
  std::string read;
  while (true) {
    const auto part = home.store.read("/jobs/digits/w/0", run, read.size(), 777, 0);
    BOOST_TEST_REQUIRE(part.has_value(), test::why(part));
    BOOST_TEST_REQUIRE(part->size == whole.size());
    BOOST_TEST_REQUIRE(part->next == read.size() + part->text.size());
    if (part->text.empty()) break;
    read += part->text;
  }
  BOOST_CHECK(read == whole);
  const auto most = home.store.read("/jobs/digits/w/0", run, 0, std::size_t{1} << 40, 0);
  BOOST_TEST(most->text.size() <= LogStore::most_bytes);
}

BOOST_AUTO_TEST_CASE(begins_with_the_first_line_since_a_time_in_a_log_of_any_size) {
  const Home home;
  std::string whole;
  for (int i = 0; i < 20000; ++i) {
    whole += line(noon_ms + 10 * i, "line " + std::to_string(i));
    if (i % 7 == 0) whole += "a library's own words, without a time\n";
  }
  home.write("digits/" + run + "/logs/w/0.log", whole);
  for (const int i : {0, 1, 6, 7, 500, 9999, 19999}) {
    for (const int early : {0, 5}) {  // exactly then, and between two lines
      const auto part = home.store.read("/jobs/digits/w/0", run, 0, 200, noon_ms + 10 * i - early);
      const auto wanted = line(noon_ms + 10 * i, "line " + std::to_string(i));
      BOOST_TEST(part->text.substr(0, wanted.size()) == wanted);
    }
  }
  const auto none = home.store.read("/jobs/digits/w/0", run, 0, 200, noon_ms + 1000000);
  BOOST_TEST(none->text == "");
  BOOST_TEST(none->next == whole.size());
}

}  // namespace
}  // namespace troupe
