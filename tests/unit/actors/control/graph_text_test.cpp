// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_text.hpp"

#include "tests/unit/actors/control/graph_fixture.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::digits;

BOOST_AUTO_TEST_SUITE(graph_text)

BOOST_AUTO_TEST_CASE(spells_out_what_was_left_to_its_default) {
  const std::string small =
      "[app]\nname = \"a\"\n[[actor]]\npath = \"x\"\nkind = \"easyscale.trainer\"\n";
  const auto loaded = parse_graph(small, "g.toml", {}, test::some_kinds());
  BOOST_TEST(loaded->resolved() ==
             "[app]\nname = \"a\"\nseed = 1\ncheckpoint_dir = \"checkpoints\"\n\n"
             "[[actor]]\npath = \"x\"\nkind = \"easyscale.trainer\"\ncount = 1\n"
             "restart = \"permanent\"\nsupervisor = \".\"\nshutdown = \"3s\"\n"
             "backoff = { first = 100, most = 30000, calm = 60000 }\n"
             "needs = { cpus = 0, memory = 0, gpu = 0 }\n"
             "[actor.args]\nranks = 8\nbatch = 8\nepochs = 1\ndeterminism = \"d1\"\n"
             "accumulate = 1\nclip_norm = 0.0\nprecision = \"f32\"\ndevice = \"cpu\"\nreducer = "
             "\"tree\"\ncheckpoint_every = 0\ncheckpoint_keep = 3\nhash_every = 10\n");
}

BOOST_AUTO_TEST_CASE(reading_the_resolved_text_gives_the_same_graph) {
  const auto kinds = test::some_kinds();
  const auto once =
      parse_graph(digits, "g.toml", {"trainers.args.data=\"a \\\\ \\\" \\u0007\""}, kinds);
  BOOST_REQUIRE(once.has_value());
  const auto twice = parse_graph(once->resolved(), "again.toml", {}, kinds);
  BOOST_REQUIRE(twice.has_value());
  BOOST_TEST(twice->resolved() == once->resolved());
  const auto args = twice->graph().getActor()[0].getArgs().getAs<msg::TrainerArgs>();
  BOOST_TEST(args.getData().cStr() == "a \\ \" \x07");
}

BOOST_AUTO_TEST_SUITE_END()
