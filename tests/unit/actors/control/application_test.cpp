// SPDX-License-Identifier: Apache-2.0
#include "actors/control/application.hpp"

#include "messages/ids.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(application)

BOOST_AUTO_TEST_CASE(every_member_of_every_path_gets_a_node_name_of_its_own) {
  std::set<std::string> names;
  const std::string deep = std::string(64, 'a') + "/" + std::string(64, 'b') + "/";
  const std::vector<std::string> paths = {"a",       "a-0",      "a-0-0",   "group/a",
                                          "group-a", deep + "c", deep + "d"};
  for (const auto& job : {std::string("job"), std::string(64, 'j')}) {
    for (const auto& path : paths) {
      for (const std::uint32_t index : {0u, 1u, 4095u}) {
        const auto name = member_node_name(job, path, index);
        BOOST_TEST(is_node_name(name + ".4294967295"), name);
        names.insert(name);
      }
    }
  }
  BOOST_TEST(names.size() == 2 * paths.size() * 3);
}

BOOST_AUTO_TEST_CASE(a_short_name_shows_where_it_comes_from) {
  BOOST_TEST(member_node_name("digits", "group/trainers", 2) == "digits.group.trainers-2");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
