// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/command_line.hpp"

#include "tests/unit/apps/troupe/parsed.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

namespace {

using test::mistake;
using test::options_of;
using test::parse;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(command_line)

BOOST_AUTO_TEST_CASE(run_takes_all_its_options_on_either_side_of_the_graph) {
  const auto run = options_of<RunOptions>(
      {"run", "--set", "app.seed=1", "g.toml", "--set", "trainers.args.data=-x", "--kill-one-at",
       "40", "--kill-one-at", "50:exchange:2", "--in-process", "-o", "json"});
  BOOST_TEST(run.graph == "g.toml");
  BOOST_TEST((run.sets == std::vector<std::string>{"app.seed=1", "trainers.args.data=-x"}));
  BOOST_TEST((run.kill_one_at == std::vector<std::string>{"40", "50:exchange:2"}));
  BOOST_TEST(run.in_process);
  BOOST_TEST(run.json);
}

BOOST_AUTO_TEST_CASE(run_alone_has_the_defaults) {
  const auto run = options_of<RunOptions>({"run", "g.toml"});
  BOOST_TEST(!run.json);
  BOOST_TEST(!run.in_process);
  BOOST_TEST(run.sets.empty());
}

BOOST_AUTO_TEST_CASE(run_goes_on_from_a_run_and_compares_two) {
  BOOST_TEST(options_of<RunOptions>({"run", "g.toml", "--resume", "digits/1"}).resume ==
             "digits/1");
  const auto verify = options_of<RunVerifyOptions>({"run", "verify", "a", "b", "-o", "json"});
  BOOST_TEST(verify.a == "a");
  BOOST_TEST(verify.b == "b");
  BOOST_TEST((verify.output == Output::json));
  BOOST_TEST(mistake({"run"}) == "troupe run: GRAPH is required");
  BOOST_TEST(mistake({"run", "verify", "a"}) == "troupe run verify: RUN_B is required");
}

BOOST_AUTO_TEST_CASE(checkpoint_has_commands_of_its_own) {
  const auto ls = options_of<CheckpointListOptions>({"checkpoint", "ls", "place", "-o", "name"});
  BOOST_TEST(ls.place == "place");
  BOOST_TEST((ls.output == Output::name));
  BOOST_TEST(options_of<CheckpointVerifyOptions>({"checkpoint", "verify", "p"}).place == "p");
  const auto diff = options_of<CheckpointDiffOptions>({"checkpoint", "diff", "a", "b"});
  BOOST_TEST(diff.a == "a");
  BOOST_TEST(diff.b == "b");
  BOOST_TEST(mistake({"checkpoint", "lss"}) ==
             "troupe checkpoint: no command 'lss', did you mean 'ls'?");
  BOOST_TEST(mistake({"checkpoint", "diff", "a"}) == "troupe checkpoint diff: B is required");
}

BOOST_AUTO_TEST_CASE(values_of_set_arrive_as_they_were_written) {
  for (const std::string value :
       {"a.b=[1, 2]", "a.b={ c = \"d\" }", "a.b='x y'", "a.b=\"\\n\"", "a.b="}) {
    const auto check = options_of<GraphCheckOptions>({"graph", "check", "g.toml", "--set", value});
    BOOST_TEST((check.sets == std::vector<std::string>{value}));
  }
}

BOOST_AUTO_TEST_CASE(node_takes_addresses_and_a_name) {
  const auto node = options_of<NodeCommandOptions>(
      {"node", "--listen", "[::1]:0", "--join", "127.0.0.1:7070", "--name", "node-3"});
  BOOST_TEST((node.listen == Address{"::1", 0}));
  BOOST_TEST((node.join == Address{"127.0.0.1", 7070}));
  BOOST_TEST(node.name == "node-3");
  BOOST_TEST(!node.launched);
  BOOST_TEST((node.role == NodeRole::host));
  BOOST_TEST(!node.secret_fd.has_value());
}

BOOST_AUTO_TEST_CASE(node_says_what_it_offers_to_actors) {
  const auto node =
      options_of<NodeCommandOptions>({"node", "--label", "ssd", "--label", "rack=7", "--cpus", "2",
                                      "--gpu", "0", "--memory", "3GiB"});
  BOOST_TEST((node.labels == std::vector<std::string>{"ssd", "rack=7"}));
  BOOST_TEST(node.cpus.value() == 2u);
  BOOST_TEST(node.gpu.value() == 0u);
  BOOST_TEST((node.memory == 3_GiB));
  BOOST_TEST(!options_of<NodeCommandOptions>({"node"}).cpus);
  for (const auto& bad :
       {std::vector<std::string>{"--label", "two words"}, {"--cpus", "-1"}, {"--memory", "much"}}) {
    const auto line = parse({"node", bad[0], bad[1]});
    BOOST_TEST(line.exit_status == 2);
    BOOST_TEST(line.text.find(bad[0]) != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(run_joins_a_cluster_by_one_or_more_of_its_members) {
  const auto run = options_of<RunOptions>({"run", "--cluster", "127.0.0.1:1", "g.toml", "--cluster",
                                           "[::1]:2", "--secret-file", "s", "--encrypt"});
  BOOST_TEST(run.graph == "g.toml");
  BOOST_TEST((run.cluster == std::vector<Address>{{"127.0.0.1", 1}, {"::1", 2}}));
  BOOST_TEST(run.secret_file == "s");
  BOOST_TEST(run.encrypt);
  BOOST_TEST(parse({"run", "g.toml", "--encrypt"}).exit_status == 2);
  BOOST_TEST(parse({"run", "g.toml", "--cluster", "x"}).text.find("--cluster") !=
             std::string::npos);
  BOOST_TEST(parse({"run", "g.toml", "--cluster", "127.0.0.1:1", "--in-process"}).exit_status == 2);
}

BOOST_AUTO_TEST_CASE(node_takes_what_its_actors_run_on) {
  const auto usual = options_of<NodeCommandOptions>({"node"}).scheduler;
  BOOST_CHECK(usual.policy == SchedulerOptions::Policy::sharing);
  BOOST_TEST(usual.threads == 0u);
  const auto set =
      options_of<NodeCommandOptions>({"node", "--scheduler", "stealing", "--threads", "8"})
          .scheduler;
  BOOST_CHECK(set.policy == SchedulerOptions::Policy::stealing);
  BOOST_TEST(set.threads == 8u);
  BOOST_TEST(has(mistake({"node", "--scheduler", "staeling"}), "did you mean 'stealing'?"));
  for (const char* wrong : {"0", "-1", "1025", "many"}) {
    BOOST_TEST(has(mistake({"node", "--threads", wrong}), "--threads"));
  }
}

BOOST_AUTO_TEST_CASE(node_takes_what_a_host_passes_to_the_processes_that_it_starts) {
  const auto node =
      options_of<NodeCommandOptions>({"node", "--name", "digits.trainers-0.1", "--join",
                                      "127.0.0.1:7070", "--secret-fd", "3", "--launched"});
  BOOST_TEST(node.launched);
  BOOST_TEST(node.secret_fd.value_or(-1) == 3);
  BOOST_TEST(!has(parse({"node", "--help"}).text, "launched"));
  BOOST_TEST(mistake({"node", "--secret-fd", "-1"}) != "");
}

BOOST_AUTO_TEST_CASE(the_name_of_this_machine_is_its_address) {
  const auto node = options_of<NodeCommandOptions>({"node", "--join", "localhost:7070"});
  BOOST_TEST((node.join == Address{"127.0.0.1", 7070}));
}

BOOST_AUTO_TEST_CASE(listings_are_printed_as_asked) {
  BOOST_TEST((options_of<GraphCheckOptions>({"graph", "check", "g", "-o", "name"}).output ==
              Output::name));
  BOOST_TEST((options_of<DoctorOptions>({"doctor", "--output", "json"}).output == Output::json));
  BOOST_TEST((options_of<DoctorOptions>({"doctor"}).output == Output::table));
}

BOOST_AUTO_TEST_CASE(bench_takes_a_name_and_how_much_to_measure) {
  const auto bench = options_of<BenchOptions>({"bench", "actors", "-o", "json", "--long"});
  BOOST_TEST(bench.name == "actors");
  BOOST_TEST((bench.output == Output::json));
  BOOST_TEST(bench.thorough);
  BOOST_TEST(!bench.quick);
  BOOST_TEST(options_of<BenchOptions>({"bench", "actors", "--quick"}).quick);
  BOOST_TEST(mistake({"bench"}) == "troupe bench: NAME is required");
  BOOST_TEST(mistake({"bench", "actors", "--long", "--quick"}) != "");
}

BOOST_AUTO_TEST_CASE(a_misspelt_command_gets_the_one_that_was_meant) {
  BOOST_TEST(mistake({"grpah", "check"}) == "troupe: no command 'grpah', did you mean 'graph'?");
  BOOST_TEST(mistake({"graph", "chek", "f"}) ==
             "troupe graph: no command 'chek', did you mean 'check'?");
  BOOST_TEST(mistake({"frobnicate"}) ==
             "troupe: no command 'frobnicate'; known: run, checkpoint, node, graph, ps, tree, top, "
             "logs, kill, drain, doctor, bench");
}

BOOST_AUTO_TEST_CASE(a_misspelt_option_gets_the_one_that_was_meant) {
  BOOST_TEST(mistake({"run", "--sett", "a.b=1", "g"}) ==
             "troupe run: unknown option '--sett', did you mean '--set'?");
  BOOST_TEST(mistake({"run", "g", "--in-proces"}) ==
             "troupe run: unknown option '--in-proces', did you mean '--in-process'?");
}

BOOST_AUTO_TEST_CASE(malformed_values_are_named) {
  BOOST_TEST(has(mistake({"run", "g", "--kill-one-at", "4:forwrd"}),
                 "no phase 'forwrd', did you mean 'forward'?"));
  for (const std::string kill : {"x", "-1", "4:", "4:forward:x", "4:forward:1:2", ":forward"}) {
    BOOST_TEST(mistake({"run", "g", "--kill-one-at=" + kill}) != "");
  }
  BOOST_TEST(has(mistake({"run", "g", "--set", "seed=1"}), "'seed=1' is not TARGET.KEY=VALUE"));
  BOOST_TEST(has(mistake({"doctor", "-o", "jsn"}), "no output 'jsn', did you mean 'json'?"));
  BOOST_TEST(has(mistake({"doctor", "-o", "name"}), "no output 'name'"));
  BOOST_TEST(has(mistake({"node", "--listen", "7070"}), "expected HOST:PORT"));
  BOOST_TEST(has(mistake({"node", "--role", "contrl"}), "did you mean 'control'?"));
  BOOST_TEST(has(mistake({"node", "--label", "a b"}), "'a b' is no label: use letters"));
  BOOST_TEST(has(mistake({"node", "--memory", "lots"}), "--memory"));
  BOOST_TEST(mistake({"node", "--cpus", "-1"}) != "");
  BOOST_TEST(has(mistake({"node", "--name", "Big Node"}), "'Big Node' is no node name"));
  BOOST_TEST(has(mistake({"node", "--name", "a/b"}), "'a/b' is no node name"));
  BOOST_TEST(has(mistake({"node", "--join", "gpu-3:7070"}), "such as 127.0.0.1"));
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_too_much_is_named) {
  BOOST_TEST(mistake({"run"}) == "troupe run: GRAPH is required");
  BOOST_TEST(mistake({"run", "a", "b"}) == "troupe run: unexpected argument 'b'");
  BOOST_TEST(has(mistake({"run", "a", "--set"}), "--set"));
  BOOST_TEST(has(parse({}).text, "Example:"));
  BOOST_TEST(parse({}).exit_status == 2);
  BOOST_TEST(parse({"graph"}).exit_status == 2);
}

BOOST_AUTO_TEST_CASE(every_command_has_help_with_an_example) {
  const std::vector<std::vector<std::string>> commands = {
      {}, {"run"}, {"node"}, {"graph"}, {"graph", "check"}, {"doctor"}, {"bench"}};
  for (auto words : commands) {
    words.emplace_back("--help");
    const auto line = parse(words);
    BOOST_TEST(line.exit_status == 0);
    BOOST_TEST(has(line.text, "Example:"));
    BOOST_TEST(has(line.text, "  troupe "));
  }
}

BOOST_AUTO_TEST_CASE(another_program_calls_itself_by_its_own_name) {
  const std::vector<std::vector<std::string>> commands = {
      {}, {"run"}, {"node"}, {"graph"}, {"graph", "check"}, {"doctor"}, {"--version"}, {"rnu"}};
  for (auto words : commands) {
    if (words.empty() || words[0][0] != '-') words.emplace_back("--help");
    const auto text = parse_command_line(words, ActorKinds(), "my-train").text;
    BOOST_TEST(has(text, "my-train"));
    BOOST_TEST(!has(text, "troupe "), text);
  }
}

BOOST_AUTO_TEST_CASE(help_of_graph_check_lists_the_keys_of_the_schemas) {
  const auto text = parse({"graph", "check", "--help"}).text;
  BOOST_TEST(has(text, "[actor.args] of kind = \"easyscale.trainer\""));
  BOOST_TEST(has(text, "samples per virtual rank and step"));
}

BOOST_AUTO_TEST_CASE(the_version_is_printed) {
  const auto line = parse({"--version"});
  BOOST_TEST(line.exit_status == 0);
  BOOST_TEST(line.text.find("troupe ") == 0u);
  BOOST_TEST(line.text.back() == '\n');
}

BOOST_AUTO_TEST_SUITE_END()
