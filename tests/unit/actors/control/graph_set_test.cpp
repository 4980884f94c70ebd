// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_set.hpp"

#include "tests/unit/actors/control/graph_fixture.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::digits;

namespace {

// What `--set option` makes of the digits graph, as resolved text, or the error.
std::string set(const std::string& option) {
  const auto loaded = parse_graph(digits, "g.toml", {option}, test::some_kinds());
  return loaded ? loaded->resolved() : loaded.error().what;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string usage =
    ": expected TARGET.KEY=VALUE, such as app.seed=1 or trainers.args.epochs=2";

}  // namespace

BOOST_AUTO_TEST_SUITE(graph_set)

BOOST_AUTO_TEST_CASE(sets_values_of_the_application_of_actors_and_of_supervisors) {
  BOOST_TEST(has(set("app.seed=1"), "seed = 1\n"));
  BOOST_TEST(has(set("trainers.count=2"), "count = 2\n"));
  BOOST_TEST(has(set("trainers.args.epochs=2"), "epochs = 2\n"));
  BOOST_TEST(has(set("trainers.args.data=some/file.csv"), "data = \"some/file.csv\"\n"));
  BOOST_TEST(has(set("supervisor.intensity.restarts=9"), "{ restarts = 9, per_s = 60 }"));
}

BOOST_AUTO_TEST_CASE(bare_words_are_texts_and_toml_is_toml) {
  BOOST_TEST(has(set("app.name=mnist"), "name = \"mnist\"\n"));
  BOOST_TEST(has(set("app.name=\"mnist\""), "name = \"mnist\"\n"));
  BOOST_TEST(has(set("trainers.restart=temporary"), "restart = \"temporary\"\n"));
  BOOST_TEST(has(set("trainers.args={ batch = 4 }"), "batch = 4\n"));
}

BOOST_AUTO_TEST_CASE(adds_a_root_supervisor_that_the_graph_does_not_mention) {
  const std::string small =
      "[app]\nname = \"a\"\n[[actor]]\npath = \"x\"\nkind = \"easyscale.trainer\"\n";
  const auto loaded = parse_graph(small, "g.toml", {"supervisor.intensity.restarts=2", "x.count=4"},
                                  test::some_kinds());
  BOOST_REQUIRE(loaded.has_value());
  BOOST_REQUIRE(loaded->graph().getSupervisor().size() == 1u);
  BOOST_TEST(loaded->graph().getSupervisor()[0].getIntensity().getRestarts() == 2u);
}

BOOST_AUTO_TEST_CASE(a_later_option_wins) {
  const auto loaded =
      parse_graph(digits, "g.toml", {"trainers.count=2", "trainers.count=5"}, test::some_kinds());
  BOOST_TEST(loaded->graph().getActor()[0].getCount() == 5u);
}

BOOST_AUTO_TEST_CASE(errors_name_the_option_and_what_was_meant) {
  BOOST_TEST(set("trainers.cout=3") ==
             "--set trainers.cout=3: unknown key 'cout', did you mean 'count'?");
  BOOST_TEST(set("trainers.args.epohcs=3") ==
             "--set trainers.args.epohcs=3: unknown key 'epohcs', did you mean 'epochs'?");
  BOOST_TEST(set("trainrs.count=3") ==
             "--set trainrs.count=3: no actor or supervisor 'trainrs', did you mean 'trainers'?");
  BOOST_TEST(set("trainers.count=many") ==
             "--set trainers.count=many: expected a whole number, not a text (how many of them)");
  BOOST_TEST(set("trainers.count=-1") == "--set trainers.count=-1: must not be negative");
  BOOST_TEST(set("trainers.count=0") ==
             "--set trainers.count=0: count of 'trainers' must be from 1 to 4096");
  BOOST_TEST(set("trainers.kind.x=1") ==
             "--set trainers.kind.x=1: 'kind' holds a text, so nothing lies below it");
}

BOOST_AUTO_TEST_CASE(a_number_that_no_type_holds_is_not_taken_for_a_text) {
  for (const std::string number : {"9223372036854775808", "-99999999999999999999"}) {
    BOOST_TEST(set("app.seed=" + number) ==
               "--set app.seed=" + number +
                   ": the number does not fit; the largest is 9223372036854775807");
  }
}

BOOST_AUTO_TEST_CASE(malformed_options_are_refused) {
  for (const std::string option : {"", "=", "app", "app=1", "app.=1", ".seed=1", "app..seed=1",
                                   "a.b.c.d.e.f.g.h.i.j.k.l.m=1"}) {
    BOOST_TEST(set(option) == "--set " + option + usage);
  }
  BOOST_TEST(set("app.seed") == "--set app.seed" + usage);
  BOOST_TEST(set("app.name=") ==
             "--set app.name=: the value is missing; write \"\" for an empty text");
  BOOST_TEST(set("app.name=\"open") == "--set app.name=\"open: the value is not complete TOML");
  BOOST_TEST(set("trainers.args={batch") ==
             "--set trainers.args={batch: the value is not complete TOML");
}

BOOST_AUTO_TEST_CASE(a_value_cannot_smuggle_in_further_keys) {
  const auto error = set("app.seed=1\nname = \"other\"");
  BOOST_TEST(has(error, "--set app.seed=1"));
  BOOST_TEST(has(error, "expected a whole number, not a text"));
}

BOOST_AUTO_TEST_CASE(a_flood_of_options_is_refused) {
  const std::vector<std::string> flood(1001, "app.seed=1");
  BOOST_TEST(test::errors_in(digits, flood) == "more than 1000 --set options");
}

BOOST_AUTO_TEST_SUITE_END()
