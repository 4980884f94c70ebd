// SPDX-License-Identifier: Apache-2.0
#include "actors/control/graph_check.hpp"

#include "tests/unit/actors/control/graph_fixture.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;
using test::digits;
using test::errors_in;
using test::with_line;

namespace {

std::string actor(const std::string& path, const std::string& more = "") {
  return "[[actor]]\npath = \"" + path + "\"\nkind = \"easyscale.trainer\"\n" + more;
}

std::string supervisor(const std::string& path, const std::string& parent) {
  return "[[supervisor]]\npath = \"" + path + "\"\nsupervisor = \"" + parent + "\"\n";
}

const std::string app = "[app]\nname = \"a\"\n";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(graph_check)

BOOST_AUTO_TEST_CASE(a_good_graph_has_no_problems) { BOOST_TEST(errors_in(digits) == ""); }

BOOST_AUTO_TEST_CASE(works_on_a_graph_that_no_file_was_read_for) {
  capnp::MallocMessageBuilder message;
  auto graph = message.initRoot<msg::AppGraph>();
  graph.initApp().setName("made");
  graph.initActor(1)[0].setPath("x");
  const auto problems = check_graph(graph.asReader(), test::some_kinds(), GraphPlaces("memory"));
  BOOST_REQUIRE(problems.size() == 1u);
  BOOST_TEST((problems[0] == GraphProblem{"memory", "actor 'x' has no kind"}));
}

BOOST_AUTO_TEST_CASE(an_application_needs_a_name_and_an_actor) {
  BOOST_TEST(errors_in("") ==
             "g.toml: the application has no name; write [app] and name = \"...\"\n"
             "g.toml: the graph has no actor; add an [[actor]] with a path and a kind");
  BOOST_TEST(errors_in(with_line(2, "name = \"My Job\"")) ==
             "g.toml:2:8: 'My Job' is no name: use a-z, 0-9, _ and -, at most 64 of them");
  BOOST_TEST(has(errors_in(with_line(2, "name = \"../../etc\"")), "g.toml:2:8: '../../etc' is no"));
  BOOST_TEST(has(errors_in(with_line(2, "name = \"" + std::string(65, 'a') + "\"")), "is no name"));
}

BOOST_AUTO_TEST_CASE(paths_must_be_well_formed) {
  for (const std::string path : {"/", "a/", "/a", "a//b", "..", "a/../b", "A", "a b", "a.b"}) {
    BOOST_TEST(errors_in(app + actor(path)) ==
               "g.toml:4:8: '" + path +
                   "' is no path: use a-z, 0-9, _ and -, with / between names");
  }
  BOOST_TEST(errors_in(app + actor("a/b-2/c_3")) == "");
  BOOST_TEST(errors_in(app + actor("")) == "g.toml:4:8: this actor has no path");
  BOOST_TEST(has(errors_in(app + actor("app")), "'app' cannot be a path"));
}

BOOST_AUTO_TEST_CASE(a_path_is_taken_once_among_actors_and_supervisors) {
  BOOST_TEST(errors_in(app + actor("x") + actor("x")) ==
             "g.toml:7:8: path 'x' is taken at g.toml:4:8");
  BOOST_TEST(has(errors_in(app + actor("x") + supervisor("x", ".")), "path 'x' is taken at"));
  BOOST_TEST(has(errors_in(app + actor("x") + supervisor(".", ".") + supervisor(".", ".")),
                 "a second root supervisor"));
}

BOOST_AUTO_TEST_CASE(nothing_lives_below_the_members_of_a_group) {
  BOOST_TEST(errors_in(app + actor("x") + actor("x/0")) ==
             "g.toml:7:8: path 'x/0' lies below the actors of 'x'");
}

BOOST_AUTO_TEST_CASE(counts_are_bounded_alone_and_in_sum) {
  BOOST_TEST(errors_in(app + actor("x", "count = 0\n")) ==
             "g.toml:6:9: count of 'x' must be from 1 to 4096");
  BOOST_TEST(has(errors_in(app + actor("x", "count = 4097\n")), "must be from 1 to 4096"));
  BOOST_TEST(errors_in(app + actor("x", "count = 4096\n")) == "");
  BOOST_TEST(has(errors_in(app + actor("x", "count = 4096\n") + actor("y", "count = 4096\n") +
                           actor("z", "count = 4096\n")),
                 "12288 actors in all, at most 10000 are allowed"));
}

BOOST_AUTO_TEST_CASE(an_unknown_kind_is_reported_with_the_likely_one_or_all_of_them) {
  BOOST_TEST(errors_in(with_line(6, "kind = \"easyscale.trainr\"")) ==
             "g.toml:6:8: unknown kind 'easyscale.trainr' of 'trainers', did you mean "
             "'easyscale.trainer'?");
  BOOST_TEST(
      errors_in(with_line(6, "kind = \"mine\"")) ==
      "g.toml:6:8: unknown kind 'mine' of 'trainers'; known: easyscale.trainer, orphan.kind");
}

BOOST_AUTO_TEST_CASE(a_kind_that_no_program_hosts_is_refused_unless_the_graph_names_one) {
  BOOST_TEST(
      errors_in(with_line(6, "kind = \"orphan.kind\"")) ==
      "g.toml:6:8: no program hosts kind 'orphan.kind' of 'trainers'; name one with binary = "
      "\"...\"");
  BOOST_TEST(errors_in(with_line(6, "kind = \"orphan.kind\"\nbinary = \"my-program\"")) == "");
}

BOOST_AUTO_TEST_CASE(what_a_kinds_own_check_finds_is_shown_at_the_key_it_speaks_of) {
  BOOST_TEST(errors_in(with_line(12, "batch = 0")) ==
             "g.toml:12:9: args of 'trainers': batch must be at least 1");
}

BOOST_AUTO_TEST_CASE(how_an_actor_stops_is_brutal_infinity_or_a_time) {
  for (const std::string good : {"brutal", "infinity", "1ms", "5s", "1h"}) {
    BOOST_TEST(errors_in(with_line(8, "shutdown = \"" + good + "\"")) == "");
  }
  for (const std::string bad : {"", "0s", "61min", "gently", "-1s", "5", "BRUTAL"}) {
    BOOST_TEST(errors_in(with_line(8, "shutdown = \"" + bad + "\"")) ==
               "g.toml:8:12: '" + bad +
                   "' is no way to stop: write \"brutal\", \"infinity\", or a time from 1ms to 1h "
                   "such as \"5s\" (of 'trainers')");
  }
  BOOST_TEST(has(errors_in(with_line(8, "shutdown = 5")), "g.toml:8:12: expected a text"));
}

BOOST_AUTO_TEST_CASE(a_back_off_grows_from_its_first_to_its_longest_wait) {
  BOOST_TEST(errors_in(with_line(8, R"(backoff = { first = "1s", most = "1min", calm = 5000 })")) ==
             "");
  BOOST_TEST(errors_in(with_line(8, R"(backoff = { first = "2s", most = "1s" })")) ==
             "g.toml:8:21: first must not be longer than most (1000 ms) (of 'trainers')");
  BOOST_TEST(errors_in(with_line(8, R"(backoff = { most = "2h", calm = "25h" })")) ==
             "g.toml:8:20: most must be at most 1h (of 'trainers')\n"
             "g.toml:8:33: calm must be at most 24h (of 'trainers')");
  BOOST_TEST(errors_in(with_line(8, "backoff = { frist = 1 }")) ==
             "g.toml:8:13: unknown key 'frist', did you mean 'first'?");
}

BOOST_AUTO_TEST_CASE(what_an_actor_needs_is_bounded_and_well_formed) {
  BOOST_TEST(
      errors_in(with_line(8, R"(needs = { cpus = 2, memory = "4GiB", gpu = 1, labels = ["ssd",
 "rack=7"] })")) == "");
  BOOST_TEST(errors_in(with_line(8, "needs = { cpus = 4097, gpu = 65 }")) ==
             "g.toml:8:18: cpus must be at most 4096 (of 'trainers')\n"
             "g.toml:8:30: gpu must be at most 64 (of 'trainers')");
  BOOST_TEST(errors_in(with_line(8, R"(needs = { memory = "65TiB" })")) ==
             "g.toml:8:20: memory must be at most 64TiB (of 'trainers')");
  BOOST_TEST(errors_in(with_line(8, "needs = { gpu = -1 }")) ==
             "g.toml:8:17: must not be negative");
  BOOST_TEST(errors_in(with_line(8, R"(needs = { labels = ["ok", "two words"] })")) ==
             "g.toml:8:27: 'two words' is no label: use letters, digits and . _ - = /, at most 64 "
             "of them (of 'trainers')");
  std::string many;
  for (int i = 0; i < 17; ++i) many += "\"a\",";
  BOOST_TEST(errors_in(with_line(8, "needs = { labels = [" + many + "] }")) ==
             "g.toml:8:20: 17 labels, at most 16 are allowed (of 'trainers')");
}

BOOST_AUTO_TEST_CASE(strategies_are_those_of_otp) {
  for (const std::string good : {"one_for_one", "one_for_all", "rest_for_one"}) {
    BOOST_TEST(errors_in(with_line(17, "strategy = \"" + good + "\"")) == "");
  }
  BOOST_TEST(has(errors_in(with_line(17, "strategy = \"all_for_one\"")), "g.toml:17:12: "));
}

BOOST_AUTO_TEST_CASE(a_supervisor_must_exist) {
  BOOST_TEST(errors_in(app + actor("x", "supervisor = \"bos\"\n") + supervisor("boss", ".")) ==
             "g.toml:6:14: supervisor 'bos' of 'x' does not exist, did you mean 'boss'?");
  BOOST_TEST(errors_in(app + actor("x") + supervisor("boss", "chief")) ==
             "g.toml:8:14: supervisor 'chief' of 'boss' does not exist; known: ., boss");
  BOOST_TEST(errors_in(app + actor("x", "supervisor = \"boss\"\n") + supervisor("boss", ".")) ==
             "");
}

BOOST_AUTO_TEST_CASE(a_circle_of_supervisors_is_named) {
  BOOST_TEST(errors_in(app + actor("x") + supervisor("a", "a")) ==
             "g.toml:8:14: supervisors in a circle: a -> a");
  BOOST_TEST(errors_in(app + actor("x") + supervisor("a", "b") + supervisor("b", "c") +
                       supervisor("c", "a") + supervisor("d", "a")) ==
             "g.toml:8:14: supervisors in a circle: a -> b -> c -> a");
}

BOOST_AUTO_TEST_CASE(one_mistake_is_one_error) {
  BOOST_TEST(errors_in(with_line(7, "count = 20000")) ==
             "g.toml:7:9: count of 'trainers' must be from 1 to 4096");
  BOOST_TEST(errors_in(app + actor("a") + supervisor("a/b", ".") + supervisor("a/b/c", ".")) ==
             "g.toml:7:8: path 'a/b' lies below the actors of 'a'\n"
             "g.toml:10:8: path 'a/b/c' lies below the actors of 'a'");
}

BOOST_AUTO_TEST_CASE(an_intensity_needs_a_window) {
  BOOST_TEST(errors_in(with_line(18, "intensity = { restarts = 5, per_s = 0 }")) ==
             "g.toml:18:37: per_s must be at least 1");
}

BOOST_AUTO_TEST_CASE(a_graph_of_the_largest_size_is_checked_quickly_and_without_deep_recursion) {
  std::string text = app + actor("x");
  for (int i = 0; i < 5000; ++i) {
    text += supervisor("s" + std::to_string(i), "s" + std::to_string((i + 1) % 5000));
  }
  BOOST_TEST(has(errors_in(text), "supervisors in a circle: s0 -> s1 -> s2"));
}

BOOST_AUTO_TEST_SUITE_END()
