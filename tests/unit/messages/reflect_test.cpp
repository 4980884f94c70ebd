// SPDX-License-Identifier: Apache-2.0
#include "messages/reflect.hpp"

#include "messages/app_graph.capnp.h"
#include "messages/common.capnp.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace troupe;

namespace {

const std::vector<std::string> words = {"count", "kind", "path", "restart", "supervisor"};

std::string error_of(std::string_view size) { return parse_bytes(size).error().what; }

}  // namespace

BOOST_AUTO_TEST_SUITE(reflect)

BOOST_AUTO_TEST_CASE(names_of_a_schema_are_spelt_with_underscores) {
  BOOST_TEST(to_snake("name") == "name");
  BOOST_TEST(to_snake("perS") == "per_s");
  BOOST_TEST(to_snake("checkpointDir") == "checkpoint_dir");
}

BOOST_AUTO_TEST_CASE(edit_distance_counts_each_kind_of_slip_as_one) {
  BOOST_TEST(edit_distance("count", "count") == 0u);
  BOOST_TEST(edit_distance("count", "cuont") == 1u);   // swapped
  BOOST_TEST(edit_distance("count", "coun") == 1u);    // left out
  BOOST_TEST(edit_distance("count", "counts") == 1u);  // put in
  BOOST_TEST(edit_distance("count", "coint") == 1u);   // changed
  BOOST_TEST(edit_distance("Count", "cOUNT") == 0u);
  BOOST_TEST(edit_distance("", "abc") == 3u);
  BOOST_TEST(edit_distance("abc", "") == 3u);
  BOOST_TEST(edit_distance("", "") == 0u);
}

BOOST_AUTO_TEST_CASE(a_near_word_is_offered_and_a_far_one_is_not) {
  BOOST_TEST(nearest("cuont", words) == "count");
  BOOST_TEST(nearest("supervizor", words) == "supervisor");
  BOOST_TEST(nearest("edge", words) == "");
  BOOST_TEST(nearest(std::string(5000, 'x'), words) == "");
  BOOST_TEST(did_you_mean("cuont", words) == ", did you mean 'count'?");
  BOOST_TEST(did_you_mean("edge", words) == "; known: count, kind, path, restart, supervisor");
  BOOST_TEST(did_you_mean("edge", {}) == "");
}

BOOST_AUTO_TEST_CASE(a_long_list_of_known_words_is_cut) {
  const std::vector<std::string> many(100, "word");
  BOOST_TEST(did_you_mean("zzzzzzzz", many).size() < 120u);
}

BOOST_AUTO_TEST_CASE(fields_are_found_by_their_graph_name) {
  const auto schema = capnp::StructSchema::from<msg::Intensity>();
  BOOST_TEST(find_field(schema, "per_s").has_value());
  BOOST_TEST(!find_field(schema, "perS").has_value());
  BOOST_TEST(find_field(schema, "restart").error().what ==
             "unknown key 'restart', did you mean 'restarts'?");
  BOOST_TEST(find_field(schema, "zzz").error().what == "unknown key 'zzz'; known: restarts, per_s");
}

BOOST_AUTO_TEST_CASE(words_of_an_enum_are_found_in_any_case) {
  const auto schema = capnp::EnumSchema::from<msg::Restart>();
  BOOST_TEST(find_enumerant(schema, "Transient").has_value());
  BOOST_TEST(find_enumerant(capnp::EnumSchema::from<msg::Strategy>(), "one_for_one").has_value());
  BOOST_TEST(find_enumerant(schema, "permanant").error().what ==
             "expected one of: permanent, transient, temporary; not 'permanant', did you mean "
             "'permanent'?");
}

BOOST_AUTO_TEST_CASE(docs_come_from_the_schema) {
  const auto schema = capnp::StructSchema::from<msg::App>();
  BOOST_TEST(doc_of(schema) == "the application as a whole");
  BOOST_TEST(doc_of(*find_field(schema, "name")) ==
             "name of the job; its actors live under /jobs/NAME");
  BOOST_TEST(doc_of(*find_enumerant(capnp::EnumSchema::from<msg::Restart>(), "temporary")) ==
             "never started again");
  BOOST_TEST((unit_of(*find_field(schema, "seed")) == Unit::none));
}

BOOST_AUTO_TEST_CASE(a_struct_describes_its_keys_types_and_defaults) {
  const auto help = describe(capnp::StructSchema::from<msg::Actor>());
  BOOST_REQUIRE(help.size() > 6u);
  BOOST_TEST(help[0].key == "path");
  BOOST_TEST(help[0].type == "a text");
  BOOST_TEST(help[0].default_value == "");
  BOOST_TEST(help[2].key == "count");
  BOOST_TEST(help[2].default_value == "1");
  BOOST_TEST(help[3].type == "one of: permanent, transient, temporary");
  BOOST_TEST(help[3].default_value == "\"permanent\"");
  BOOST_TEST(help[4].default_value == "\".\"");
  BOOST_TEST(help[6].type == "a table");
}

BOOST_AUTO_TEST_CASE(sizes_and_durations_take_their_units) {
  BOOST_TEST(parse_bytes("512MiB")->count == 512ull << 20);
  BOOST_TEST(parse_bytes("1 GiB")->count == 1ull << 30);
  BOOST_TEST(parse_bytes("0B")->count == 0u);
  BOOST_TEST(parse_duration("30s")->count() == 30000);
  BOOST_TEST(parse_duration("2min")->count() == 120000);
  BOOST_TEST(parse_duration("5ms")->count() == 5);
}

BOOST_AUTO_TEST_CASE(bad_sizes_are_refused_with_a_reason) {
  BOOST_TEST(error_of("") == "expected a whole number and a unit");
  BOOST_TEST(error_of("-1MiB") == "expected a whole number and a unit");
  BOOST_TEST(error_of("MiB") == "expected a whole number and a unit");
  BOOST_TEST(error_of("12") == "has no unit, use one of: B, KiB, MiB, GiB, TiB");
  BOOST_TEST(error_of("12MB") == "unknown unit 'MB', use one of: B, KiB, MiB, GiB, TiB");
  BOOST_TEST(error_of("1.5GiB") == "must be a whole number; take a smaller unit");
  BOOST_TEST(error_of("99999999999999999999GiB") == "is too large");
  BOOST_TEST(error_of("8388608TiB") == "is too large");
  BOOST_TEST(parse_bytes("8388607TiB").has_value());
}

BOOST_AUTO_TEST_CASE(error_codes_are_the_same_words_in_code_and_schema) {
  const auto schema = capnp::EnumSchema::from<msg::ErrorCode>();
  const std::vector<std::pair<std::string, ErrorCode>> codes = {
      {"internal", ErrorCode::internal},
      {"invalid_argument", ErrorCode::invalid_argument},
      {"not_found", ErrorCode::not_found},
      {"already_exists", ErrorCode::already_exists},
      {"unavailable", ErrorCode::unavailable},
      {"permission_denied", ErrorCode::permission_denied},
      {"version_mismatch", ErrorCode::version_mismatch},
      {"corrupt", ErrorCode::corrupt},
      {"timeout", ErrorCode::timeout},
      {"resource_exhausted", ErrorCode::resource_exhausted},
      {"aborted", ErrorCode::aborted}};
  BOOST_TEST(words_of(schema).size() == codes.size());
  for (const auto& [word, code] : codes) {
    BOOST_TEST(find_enumerant(schema, word)->getOrdinal() == static_cast<unsigned>(code));
  }
}

BOOST_AUTO_TEST_SUITE_END()
