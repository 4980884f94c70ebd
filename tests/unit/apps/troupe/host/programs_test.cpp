// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/programs.hpp"

#include "actors/control/graph_load.hpp"
#include "messages/easyscale.capnp.h"
#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor.hpp>

#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

const std::string self = fs::read_symlink("/proc/self/exe").string();

ActorKinds some_kinds() {
  ActorKinds kinds;
  kinds.add({.name = "far", .program = "another", .args = capnp::Schema::from<msg::TrainerArgs>()});
  kinds.add({.name = "near",
             .program = "another",
             .args = capnp::Schema::from<msg::TrainerArgs>(),
             .spawn = [](const SpawnContext&) { return Result<caf::actor>(); }});
  return kinds;
}

struct Fixture {
  Fixture() {
    for (const auto* name : {"one", "two"}) {
      std::ofstream(scratch / name) << "#!/bin/sh\n";
      fs::permissions(scratch / name, fs::perms::owner_all);
    }
  }
  [[nodiscard]] std::string one() const { return (scratch / "one").string(); }
  [[nodiscard]] std::string two() const { return (scratch / "two").string(); }

  /// The host of a graph of two actors, "none" for this program, or the error.
  [[nodiscard]] std::string host(const std::string& a, const std::string& b,
                                 const std::string& stands_for = {}) const {
    const auto graph = load(a, b);
    const auto path = other_host(graph.graph(), kinds, stands_for);
    return path ? path->value_or("none") : path.error().what;
  }
  [[nodiscard]] LoadedGraph load(const std::string& a, const std::string& b) const {
    auto loaded = parse_graph(
        "[app]\nname = \"x\"\n[[actor]]\npath = \"a\"\n" + a + "[[actor]]\npath = \"b\"\n" + b,
        "g.toml", {}, kinds);
    BOOST_REQUIRE_MESSAGE(loaded, test::why(loaded));
    return std::move(*loaded);
  }

  test::Scratch scratch;
  ActorKinds kinds = some_kinds();
};

std::string actor(const std::string& kind, const std::string& binary = {}) {
  return "kind = \"" + kind + "\"\nbinary = \"" + binary + "\"\n";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

BOOST_FIXTURE_TEST_SUITE(programs, Fixture)

BOOST_AUTO_TEST_CASE(a_graph_of_kinds_that_live_here_needs_no_other_host) {
  BOOST_TEST(host(actor("near"), actor("near")) == "none");
}

BOOST_AUTO_TEST_CASE(a_program_that_the_graph_names_is_the_host_unless_it_is_this_one) {
  BOOST_TEST(host(actor("far", one()), actor("far", one())) == one());
  BOOST_TEST(host(actor("near", self), actor("near")) == "none");
  fs::create_symlink(self, scratch / "link");
  BOOST_TEST(host(actor("near", (scratch / "link").string()), actor("near")) == "none");
}

BOOST_AUTO_TEST_CASE(a_script_that_has_become_this_program_is_not_run_again) {
  BOOST_TEST(host(actor("near", one()), actor("near", one()), one()) == "none");
}

BOOST_AUTO_TEST_CASE(a_graph_that_needs_two_hosts_is_refused_by_their_names) {
  const auto error = host(actor("far", one()), actor("far", two()));
  BOOST_TEST(has(error, "a needs " + one()));
  BOOST_TEST(has(error, "b needs " + two()));
  BOOST_TEST(has(host(actor("near"), actor("far", two())), "a needs this program"));
}

BOOST_AUTO_TEST_CASE(a_program_is_a_regular_file_that_may_be_run) {
  BOOST_TEST(find_program(one()).value_or("") == one());
  BOOST_TEST(has(find_program(scratch.path().string()).error().what, "no regular file"));
  BOOST_TEST(has(find_program(one() + "x").error().what, "No such file or directory"));
  fs::permissions(one(), fs::perms::owner_read);
  BOOST_TEST(has(find_program(one()).error().what, "Permission denied"));
}

BOOST_AUTO_TEST_CASE(an_empty_binary_is_none_and_what_is_not_there_is_named_with_its_actor) {
  const auto graph = load(actor("far", one()), actor("far"));
  const auto checked = check_programs(graph.graph(), kinds);
  BOOST_REQUIRE(!checked);
  BOOST_TEST(has(checked.error().what, "b: there is no program"));
  BOOST_TEST(has(checked.error().what, "/another"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
