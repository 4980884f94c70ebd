// SPDX-License-Identifier: Apache-2.0
#include "actors/control/toml_tree.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(toml_tree)

BOOST_AUTO_TEST_CASE(keeps_the_place_of_every_key_and_value) {
  const auto document = parse_toml("a = 1\n[t]\nb = [ 2, \"x\" ]\n", "f.toml");
  BOOST_REQUIRE(document.has_value());
  const auto* a = find_entry(*document->table(), "a");
  BOOST_TEST(a->place.text() == "f.toml:1:1");
  BOOST_TEST(a->node.place.text() == "f.toml:1:5");
  const auto* b = find_entry(*find_entry(*document->table(), "t")->node.table(), "b");
  BOOST_TEST(b->node.array()->at(1).place.text() == "f.toml:3:10");
  BOOST_TEST(find_entry(*document->table(), "c") == nullptr);
}

BOOST_AUTO_TEST_CASE(entries_stay_in_the_order_in_which_they_were_written) {
  const auto document = parse_toml("z = 1\na = 2\nm = 3\n", "f.toml");
  std::string order;
  for (const auto& entry : *document->table()) order += entry.key;
  BOOST_TEST(order == "zam");
}

BOOST_AUTO_TEST_CASE(every_type_of_toml_has_a_name) {
  const auto document =
      parse_toml("a={}\nb=[]\nc=''\nd=1\ne=1.5\nf=true\ng=1979-05-27\nh=07:32:00\n", "f.toml");
  std::string names;
  for (const auto& entry : *document->table()) names += std::string(type_name(entry.node)) + ";";
  BOOST_TEST(names ==
             "a table;an array;a text;a whole number;a decimal number;true or false;"
             "a date or time;a date or time;");
}

BOOST_AUTO_TEST_CASE(a_single_value_has_its_option_as_its_place) {
  const auto value = parse_toml_value("{ a = [1] }", "--set x.y={ a = [1] }");
  BOOST_REQUIRE(value.has_value());
  BOOST_TEST(value->table()->front().node.place.text() == "--set x.y={ a = [1] }");
  BOOST_TEST(!parse_toml_value("1\nother = 2", "--set").has_value());
  BOOST_TEST(!parse_toml_value("", "--set").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
