// SPDX-License-Identifier: Apache-2.0
#include "actors/base/logfmt.hpp"

#include "actors/base/actor_logs.hpp"
#include "actors/base/log.hpp"
#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace troupe {
namespace {

const auto noon = std::chrono::system_clock::time_point(std::chrono::milliseconds(1777636800123));

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

BOOST_AUTO_TEST_CASE(a_line_has_its_keys_in_order_and_leaves_out_what_is_not_known) {
  BOOST_TEST(to_logfmt({noon, "info", "a.host", "/jobs/a/w/0", 0xab, "up"}) ==
             "ts=2026-05-01T12:00:00.123Z level=info node=a.host actor=/jobs/a/w/0 "
             "trace=00000000000000ab msg=\"up\"");
  BOOST_TEST(to_logfmt({noon, "warn", "n", "", 0, ""}) ==
             "ts=2026-05-01T12:00:00.123Z level=warn node=n msg=\"\"");
}

BOOST_AUTO_TEST_CASE(whatever_is_said_stays_one_line_and_is_read_back) {
  for (const std::string said : {"two\nlines", "a \"quote\" and \\", "tab\tand \x01 bell\x7f",
                                 "msg=\"not this\" level=error", "\xff no UTF-8"}) {
    const auto line = to_logfmt({noon, "info", "n", "", 0, said});
    BOOST_TEST(line.find('\n') == std::string::npos);
    BOOST_TEST(logfmt_value(line, "msg").value() == said);
    BOOST_TEST(logfmt_value(line, "level").value() == "info");
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_logfmt_has_no_values) {
  for (const std::string line : {"", "terminate called", "level=info", "ts=", "ts=1 level",
                                 "ts=1 msg=\"never closed", "ts=1 msg=\"ends with \\"}) {
    BOOST_TEST(!logfmt_value(line, "level").has_value());
  }
  BOOST_TEST(!logfmt_value("ts=1 level=info", "msg").has_value());
}

BOOST_AUTO_TEST_CASE(times_are_utc_with_milliseconds_both_ways) {
  BOOST_TEST(parse_time_ms("2026-05-01T12:00:00.123Z").value() == 1777636800123);
  BOOST_TEST(parse_time_ms("2026-05-01T12:00:00Z").value() == 1777636800000);
  BOOST_TEST(parse_time_ms("2026-05-01T12:00:00.5").value() == 1777636800500);
  for (const std::string text : {"", "yesterday", "2026-05-01", "2026-05-01T12:00:00.123Zulu"}) {
    BOOST_TEST(!parse_time_ms(text).has_value());
  }
  BOOST_TEST(line_time_ms(to_logfmt({noon, "info", "n", "", 0, "x"})).value() == 1777636800123);
  BOOST_TEST(!line_time_ms("2026-05-01T12:00:00.123Z").has_value());
}

BOOST_AUTO_TEST_CASE(an_actors_file_lies_within_the_runs_folder_whatever_its_path_says) {
  BOOST_TEST(log_file_of("/jobs/digits").value() == "job.supervisor.log");
  BOOST_TEST(log_file_of("/jobs/digits/trainers").value() == "trainers.log");
  BOOST_TEST(log_file_of("/jobs/digits/a/b/0").value() == "a/b/0.log");
  for (const std::string path :
       {"", "/jobs/", "/jobs/../x", "/jobs/d/../../x", "/jobs/d//x", "/jobs/d/", "trainers/0",
        "/nodes/n", "/jobs/d/a.b", "/jobs/d/a b", "/jobs/.secret"}) {
    BOOST_TEST(!log_file_of(path).has_value(), path);
  }
}

BOOST_AUTO_TEST_CASE(lines_about_an_actor_go_to_its_file_and_those_of_another_job_do_not) {
  const test::Scratch scratch;
  keep_actor_logs("a", scratch.path());
  log_info("about nobody");
  {
    const LogScope scope("/jobs/a/w/0", 7);
    log_info("up {}", 1);
    const LogScope inner("/jobs/b/w/0");
    BOOST_TEST(LogScope::trace() == 7);
    log_info("of another job");
  }
  BOOST_TEST(LogScope::trace() == 0);
  stop_keeping_actor_logs();
  {
    const LogScope scope("/jobs/a/w/0");
    log_info("too late");
  }
  const auto text = text_of(scratch / "w/0.log");
  BOOST_TEST(text.find("actor=/jobs/a/w/0 trace=0000000000000007 msg=\"up 1\"\n") !=
             std::string::npos);
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 1);
  BOOST_TEST(std::distance(std::filesystem::directory_iterator(scratch.path()), {}) == 1);
}

BOOST_AUTO_TEST_CASE(more_actors_than_may_be_open_lose_no_line) {
  const test::Scratch scratch;
  ActorLogs logs("a", scratch.path());
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < 2 * ActorLogs::most_open; ++i) {
      BOOST_TEST(logs.add("/jobs/a/w/" + std::to_string(i), "line") == "");
    }
  }
  for (std::size_t i = 0; i < 2 * ActorLogs::most_open; ++i) {
    BOOST_TEST(text_of(scratch / ("w/" + std::to_string(i) + ".log")) == "line\nline\n");
  }
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_is_said_once) {
  const test::Scratch scratch;
  std::ofstream(scratch / "w") << "in the way";
  ActorLogs logs("a", scratch.path());
  BOOST_TEST(logs.add("/jobs/a/w/0", "line").find("/jobs/a/w/0 ends here: ") != std::string::npos);
  BOOST_TEST(logs.add("/jobs/a/w/0", "line") == "");
  BOOST_TEST(logs.add("/jobs/a/v", "line") == "");
}

}  // namespace
}  // namespace troupe
