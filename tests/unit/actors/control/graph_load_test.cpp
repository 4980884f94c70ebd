// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_load.hpp"

#include "tests/unit/actors/control/graph_fixture.hpp"

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <random>

using namespace troupe;
using test::digits;
using test::errors_in;
using test::with_line;

BOOST_AUTO_TEST_SUITE(graph_load)

BOOST_AUTO_TEST_CASE(reads_every_value_of_a_good_graph) {
  const auto loaded = parse_graph(digits, "g.toml", {}, test::some_kinds());
  BOOST_REQUIRE(loaded.has_value());
  const auto graph = loaded->graph();
  BOOST_TEST(graph.getApp().getName().cStr() == "digits");
  BOOST_TEST(graph.getApp().getSeed() == 7u);
  BOOST_REQUIRE(graph.getActor().size() == 1u);
  const auto actor = graph.getActor()[0];
  BOOST_TEST(actor.getCount() == 3u);
  BOOST_TEST(actor.getSupervisor().cStr() == ".");
  const auto args = actor.getArgs().getAs<msg::TrainerArgs>();
  BOOST_TEST(args.getProgram().cStr() == "digits");
  BOOST_TEST(args.getEpochs() == 12u);
  BOOST_TEST(graph.getSupervisor()[0].getIntensity().getPerS() == 60u);
}

BOOST_AUTO_TEST_CASE(a_graph_without_args_or_supervisor_has_the_defaults) {
  const auto loaded =
      parse_graph("[app]\nname = \"a\"\n[[actor]]\npath = \"x\"\nkind = \"easyscale.trainer\"\n",
                  "g.toml", {}, test::some_kinds());
  BOOST_REQUIRE(loaded.has_value());
  const auto actor = loaded->graph().getActor()[0];
  BOOST_TEST(actor.getCount() == 1u);
  BOOST_TEST(actor.getArgs().getAs<msg::TrainerArgs>().getBatch() == 8u);
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_named_with_its_place_and_the_likely_one) {
  BOOST_TEST(errors_in(with_line(7, "cuont = 3")) ==
             "g.toml:7:1: unknown key 'cuont', did you mean 'count'?");
  BOOST_TEST(errors_in(with_line(12, "bacth = 8")) ==
             "g.toml:12:1: unknown key 'bacth', did you mean 'batch'?");
  BOOST_TEST(errors_in(with_line(18, "intensity = { restarts = 5, per = 60 }")) ==
             "g.toml:18:29: unknown key 'per'; known: restarts, per_s");
  BOOST_TEST(errors_in(with_line(19, "[[edge]]\nfrom = \"a\"")) ==
             "g.toml:19:3: unknown key 'edge'; known: app, actor, supervisor");
}

BOOST_AUTO_TEST_CASE(a_wrong_type_says_what_the_key_takes_and_means) {
  BOOST_TEST(errors_in(with_line(7, "count = \"three\"")) ==
             "g.toml:7:9: expected a whole number, not a text (how many of them)");
  BOOST_TEST(errors_in(with_line(7, "count = 3.5")) ==
             "g.toml:7:9: expected a whole number, not a decimal number (how many of them)");
  BOOST_TEST(errors_in(with_line(2, "name = 5")) ==
             "g.toml:2:8: expected a text, not a whole number (name of the job; its actors live "
             "under /jobs/NAME)");
  BOOST_TEST(errors_in(with_line(3, "seed = 1979-05-27"))
                 .find("g.toml:3:8: expected a whole number, not a date or time") == 0u);
  BOOST_TEST(errors_in(with_line(18, "intensity = 5"))
                 .find("g.toml:18:13: expected a table, not a whole number") == 0u);
  BOOST_TEST(errors_in(with_line(8, "restart = \"sometimes\"")) ==
             "g.toml:8:11: expected one of: permanent, transient, temporary; not 'sometimes'");
  BOOST_TEST(errors_in(with_line(8, "args = 5\n[[actor]]")).find("g.toml:8:8: expected a table") ==
             0u);
}

BOOST_AUTO_TEST_CASE(single_brackets_where_there_can_be_several_are_explained) {
  BOOST_TEST(errors_in("[app]\nname=\"a\"\n[actor]\npath=\"x\"\n") ==
             "g.toml:3:1: write [[actor]], with double brackets: there can be several");
}

BOOST_AUTO_TEST_CASE(numbers_outside_their_type_are_refused) {
  BOOST_TEST(errors_in(with_line(7, "count = -1")) == "g.toml:7:9: must not be negative");
  BOOST_TEST(errors_in(with_line(7, "count = 4294967296")) ==
             "g.toml:7:9: must be at most 4294967295");
  BOOST_TEST(errors_in(with_line(3, "seed = -7")) == "g.toml:3:8: must not be negative");
  BOOST_TEST(errors_in(with_line(3, "seed = 99999999999999999999")).find("g.toml:3:") == 0u);
  BOOST_TEST(errors_in(with_line(3, "seed = 9223372036854775807")) == "");
}

BOOST_AUTO_TEST_CASE(broken_toml_is_reported_with_line_and_column) {
  BOOST_TEST(errors_in("[app\nname = 1").find("g.toml:1:5: ") == 0u);
  BOOST_TEST(errors_in(with_line(3, "name = \"again\"")).find("g.toml:3:") == 0u);
  BOOST_TEST(errors_in(std::string("[app]\nname = \"\xff\xfe\"\n")).find("g.toml:2:") == 0u);
  BOOST_TEST(errors_in(std::string("[app]\nname = \"a\0b\"\n", 18)).find("g.toml:2:") == 0u);
}

BOOST_AUTO_TEST_CASE(several_mistakes_are_all_reported_up_to_a_limit) {
  BOOST_TEST(errors_in(with_line(3, "seed = -7\nsead = 2")) ==
             "g.toml:3:8: must not be negative\n"
             "g.toml:4:1: unknown key 'sead', did you mean 'seed'?");
  std::string many = "[app]\nname=\"a\"\n";
  for (int i = 0; i < 500; ++i) many += "wrong" + std::to_string(i) + " = 1\n";
  const auto errors = errors_in(many);
  BOOST_TEST(std::count(errors.begin(), errors.end(), '\n') == 19);
}

BOOST_AUTO_TEST_CASE(deep_nesting_is_refused) {
  const auto deep = [](std::size_t n) {
    return "[app]\nname = " + std::string(n, '[') + std::string(n, ']') + "\n";
  };
  BOOST_TEST(errors_in(deep(20)).find("g.toml:2:") == 0u);
  BOOST_TEST(errors_in(deep(20)).find("nested deeper than 16 levels") != std::string::npos);
  BOOST_TEST(errors_in(deep(100000)).find("g.toml:2:") == 0u);
}

BOOST_AUTO_TEST_CASE(too_large_a_text_list_or_file_is_refused_before_it_is_stored) {
  BOOST_TEST(errors_in(with_line(2, "name = \"" + std::string(5000, 'a') + "\"")) ==
             "g.toml:2:8: longer than 4096 bytes");
  std::string crowd = "[app]\nname=\"a\"\n";
  for (int i = 0; i < 10001; ++i) crowd += "[[actor]]\n";
  BOOST_TEST(errors_in(crowd) == "g.toml:3:3: 10001 entries of 'actor', at most 10000 are allowed");
  BOOST_TEST(errors_in(digits + std::string(max_graph_size, '#')) ==
             "g.toml: larger than 1 MiB, which no graph may be");
}

BOOST_AUTO_TEST_CASE(control_characters_of_a_hostile_graph_do_not_reach_the_terminal) {
  const auto errors = errors_in("[app]\nname = \"a\"\n\"x\\u001b[2Jy\\n\" = 1\n");
  BOOST_TEST(errors.find("unknown key 'x?[2Jy?'") != std::string::npos);
  BOOST_TEST(errors.find('\x1b') == std::string::npos);
}

BOOST_AUTO_TEST_CASE(whatever_the_bytes_are_the_answer_is_a_graph_or_errors_with_a_place) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    auto text = digits;
    for (auto edits = 1 + random() % 6; edits > 0; --edits) {
      const auto at = random() % text.size();
      const auto length = random() % 12;
      switch (random() % 3) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, text.substr(random() % text.size(), length));
          break;
        default:
          text[at] = static_cast<char>(random() % 256);
      }
      if (text.empty()) text = "=";
    }
    const auto errors = errors_in(text);
    BOOST_TEST((errors.empty() || errors.rfind("g.toml:", 0) == 0),
               "seed " << seed << ": " << errors);
  }
}

BOOST_AUTO_TEST_CASE(files_that_are_no_graphs_are_named) {
  const auto kinds = test::some_kinds();
  BOOST_TEST(load_graph("/nowhere/g.toml", {}, kinds).error().what ==
             "/nowhere/g.toml: no such file");
  BOOST_TEST(load_graph("/", {}, kinds).error().what == "/: is a folder, not a graph file");
  const auto file = "graph_load_test." + std::to_string(getpid()) + ".toml";
  std::ofstream(file) << std::string(max_graph_size + 5, '#');
  BOOST_TEST(load_graph(file, {}, kinds).error().what ==
             file + ": larger than 1 MiB, which no graph may be");
  std::ofstream(file) << digits;
  BOOST_TEST(load_graph(file, {}, kinds).has_value());
  std::remove(file.c_str());
}

BOOST_AUTO_TEST_SUITE_END()
