// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/report.hpp"

#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace troupe {
namespace {

Event done(const std::string& path, const std::string& hash) {
  return {"done", {{"path", path}, {"params_sha256", hash}, {"test_accuracy", 0.5}}};
}

struct Fixture {
  Reporter make(bool json) {
    return {{"job", {"/jobs/job/a", "/jobs/job/b"}, json, scratch.path()},
            LineFile::open(scratch / "out")};
  }
  [[nodiscard]] std::vector<std::string> lines(const std::string& file) const {
    std::ifstream in(scratch / file);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
  }
  test::Scratch scratch;
};

BOOST_FIXTURE_TEST_SUITE(report, Fixture)

BOOST_AUTO_TEST_CASE(hashes_go_to_a_file_of_their_own) {
  const std::string hash(64, 'a');
  auto reporter = make(true);
  reporter.report({"hashes",
                   {{"path", "/jobs/job/a"},
                    {"step", std::int64_t{10}},
                    {"tensors", "w " + hash + "\nv " + hash + "\n"}}});
  reporter.report(
      {"hashes", {{"path", "/jobs/job/b"}, {"step", std::int64_t{20}}, {"tensors", "w " + hash}}});
  const std::vector<std::string> expected = {"troupe-hashes 1", "10 /jobs/job/a w " + hash,
                                             "10 /jobs/job/a v " + hash,
                                             "20 /jobs/job/b w " + hash};
  BOOST_TEST(lines("hashes") == expected, boost::test_tools::per_element());
  BOOST_TEST(lines("out").empty());
  BOOST_TEST(lines("events.jsonl").empty());
}

BOOST_AUTO_TEST_CASE(the_runs_done_is_the_last_line_and_comes_when_all_has_ended) {
  auto reporter = make(true);
  reporter.report(done("/jobs/job/b", "bb"));
  reporter.report(done("/jobs/job/a", "aa"));
  for (const auto& line : lines("out")) {
    BOOST_TEST(nlohmann::json::parse(line)["event"] == "group_done");
  }
  reporter.finish();
  BOOST_TEST(lines("out") == lines("events.jsonl"));
  BOOST_REQUIRE(lines("out").size() == 3u);
  const auto last = nlohmann::json::parse(lines("out").back());
  BOOST_TEST(last["event"] == "done");
  BOOST_TEST(last["job"] == "job");
  BOOST_TEST(last["path"] == "/jobs/job/a");  // the first group of the graph
  BOOST_TEST(last["params_sha256"] == "aa");
  BOOST_TEST(last["groups"] == 2);
  BOOST_TEST(last.contains("wall_s"));
}

BOOST_AUTO_TEST_CASE(people_get_a_result_for_each_group_in_the_graphs_order) {
  auto reporter = make(false);
  reporter.report(done("/jobs/job/b", "bb"));
  reporter.report(done("/jobs/job/a", "aa"));
  BOOST_TEST(lines("out").empty());
  reporter.finish();
  BOOST_TEST(
      (lines("out") == std::vector<std::string>{"job/a: test accuracy 50.00 %, parameters aa",
                                                "job/b: test accuracy 50.00 %, parameters bb"}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
