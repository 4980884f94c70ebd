// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/command_line.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

namespace troupe {
namespace {

CommandLine parse(const std::vector<std::string>& words) {
  return parse_command_line(words, ActorKinds());
}

template <class Options>
Options options_of(const std::vector<std::string>& words) {
  const auto line = parse(words);
  BOOST_REQUIRE_MESSAGE(line.command.has_value(), line.text);
  return std::get<Options>(*line.command);
}

std::string mistake(const std::vector<std::string>& words) {
  const auto line = parse(words);
  BOOST_TEST(!line.command.has_value());
  BOOST_TEST(line.exit_status == 2);
  return line.text.substr(0, line.text.find('\n'));
}

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
