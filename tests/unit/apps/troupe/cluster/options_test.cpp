// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/command_line.hpp"
#include "tests/unit/apps/troupe/parsed.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace troupe {
namespace {

using test::mistake;
using test::options_of;
using test::parse;

BOOST_AUTO_TEST_CASE(every_command_takes_what_finds_the_cluster) {
  const auto ps = options_of<PsOptions>({"ps", "--connect", "127.0.0.1:7070", "--secret-file", "s",
                                         "--encrypt", "-o", "json", "digits", "--ended"});
  BOOST_TEST(to_string(ps.cluster.connect.value()) == "127.0.0.1:7070");
  BOOST_TEST(ps.cluster.secret_file == "s");
  BOOST_TEST(ps.cluster.encrypt);
  BOOST_TEST((ps.output == Output::json));
  BOOST_TEST(ps.path == "digits");
  BOOST_TEST(ps.ended);
  BOOST_TEST(options_of<TreeOptions>({"tree", "--node", "a"}).cluster.node == "a");
  BOOST_TEST(options_of<DrainOptions>({"drain", "b", "--node", "a"}).target == "b");
  BOOST_TEST(options_of<KillOptions>({"kill", "--stop", "d/w/0"}).stop);
  BOOST_TEST(options_of<TopOptions>({"top", "-n", "3"}).count.value() == 3u);
  BOOST_TEST(!options_of<TopOptions>({"top"}).count.has_value());
}

BOOST_AUTO_TEST_CASE(since_is_a_time_or_how_long_ago) {
  BOOST_TEST(options_of<LogsOptions>({"logs", "d", "--since", "2026-05-01T12:00:00Z"}).since_ms ==
             1777636800000);
  const auto logs = options_of<LogsOptions>({"logs", "-f", "d", "--since", "10min"});
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  BOOST_TEST(now - logs.since_ms >= 600000);
  BOOST_TEST(now - logs.since_ms < 660000);
  BOOST_TEST(logs.follow);
  BOOST_TEST(
      mistake({"logs", "d", "--since", "lately"}) ==
      "troupe logs: --since: 'lately' is neither a duration such as 10min nor a time such as "
      "2026-05-01T12:00:00Z");
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused) {
  BOOST_TEST(mistake({"kill"}) == "troupe kill: PATH is required");
  BOOST_TEST(mistake({"ps", "-o", "jsn"}) ==
             "troupe ps: -o: no output 'jsn', did you mean 'json'?");
  BOOST_TEST(mistake({"tre"}) == "troupe: no command 'tre', did you mean 'tree'?");
  BOOST_TEST(mistake({"top", "-n", "0"}).find("troupe top: --count: ") == 0u);
  BOOST_TEST(mistake({"ps", "--conect", "x"}) ==
             "troupe ps: unknown option '--conect', did you mean '--connect'?");
}

}  // namespace
}  // namespace troupe
