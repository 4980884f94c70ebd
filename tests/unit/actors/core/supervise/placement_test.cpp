// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/placement.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

PlacementNode node(const std::string& name, std::uint32_t cpus = 8, std::uint32_t gpu = 0) {
  const Resources all{cpus, 16_GiB, gpu};
  return {{name, 1}, {}, all, all, false};
}

std::string place(const PlacementRequest& request, const std::vector<PlacementNode>& nodes) {
  const auto placement = make_spreading_policy()->place(request, nodes);
  return placement.node ? placement.node->name : explain(request, placement);
}

BOOST_AUTO_TEST_SUITE(placement)

BOOST_AUTO_TEST_CASE(goes_where_it_fits_and_else_says_of_each_node_why_not) {
  auto busy = node("busy", 8, 2);
  busy.free.gpu = 0;
  auto leaving = node("leaving", 8, 1);
  leaving.draining = true;
  const PlacementRequest request{"/jobs/x/t/0", {{1, 2_GiB, 1}, {}}, {}};
  BOOST_TEST(place(request, {node("plain"), busy, leaving, node("good", 4, 1)}) == "good");
  BOOST_TEST(place(request, {node("plain"), busy, leaving}) ==
             "cpus=1 memory=2GiB gpu=1 (plain: needs gpu=1, 0 of 0 free; busy: needs gpu=1, 0 of 2 "
             "free; leaving: is draining)");
  BOOST_TEST(place(request, {}) == "cpus=1 memory=2GiB gpu=1 (there is no node)");
}

BOOST_AUTO_TEST_CASE(each_amount_and_label_counts) {
  auto here = node("n", 2, 1);
  here.labels = {"ssd", "rack=7"};
  const auto why = [&](const Needs& needs) { return misfit(needs, here); };
  BOOST_TEST(why({{2, 16_GiB, 1}, {"rack=7", "ssd"}}) == "");
  BOOST_TEST(why({{3, {}, 0}, {}}) == "needs cpus=3, 2 of 2 free");
  BOOST_TEST(why({{0, 17_GiB, 0}, {}}) == "needs memory=17GiB, 16GiB of 16GiB free");
  BOOST_TEST(why({{}, {"rack=8"}}) == "has no label rack=8");
}

BOOST_AUTO_TEST_CASE(members_of_a_group_are_spread) {
  PlacementRequest request{"/jobs/x/t/2", {}, {{"a", 1}, {"b", 1}, {"b", 1}}};
  BOOST_TEST(place(request, {node("a", 64), node("b", 64), node("c", 1)}) == "c");
  request.siblings.push_back({"c", 1});
  request.siblings.push_back({"c", 1});
  BOOST_TEST(place(request, {node("a"), node("b"), node("c")}) == "a");
}

BOOST_AUTO_TEST_CASE(siblings_on_an_earlier_life_of_a_node_do_not_count) {
  const PlacementRequest request{"/jobs/x/t/2", {}, {{"a", 7}, {"b", 1}}};
  BOOST_TEST(place(request, {node("a", 1), node("b", 64)}) == "a");
}

BOOST_AUTO_TEST_CASE(among_equals_the_one_with_most_room_and_then_the_first_by_name) {
  const PlacementRequest request{"/jobs/x/t/0", {}, {}};
  BOOST_TEST(place(request, {node("a", 2), node("b", 4), node("c", 3)}) == "b");
  auto roomy = node("b", 2);
  roomy.free.memory = 15_GiB;
  auto roomier = node("c", 2);
  BOOST_TEST(place(request, {roomy, roomier}) == "c");
  BOOST_TEST(place(request, {node("b"), node("a"), node("c")}) == "a");
}

BOOST_AUTO_TEST_CASE(a_long_list_of_misfits_is_cut) {
  std::vector<PlacementNode> nodes;
  for (int i = 0; i < 7; ++i) nodes.push_back(node("n" + std::to_string(i)));
  const auto said = place({"/jobs/x/t/0", {{0, {}, 1}, {}}, {}}, nodes);
  BOOST_TEST(said.find("n4: needs gpu=1, 0 of 0 free; and 2 more)") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(labels_are_short_and_plain) {
  BOOST_TEST(is_label("rack=7"));
  BOOST_TEST(is_label("zone/a-b_c.D"));
  BOOST_TEST(!is_label(""));
  BOOST_TEST(!is_label("two words"));
  BOOST_TEST(!is_label("bell\a"));
  BOOST_TEST(!is_label(std::string(65, 'a')));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
