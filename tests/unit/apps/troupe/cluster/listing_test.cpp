// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/listing.hpp"

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

namespace troupe {
namespace {

ActorLine actor(const std::string& path, const std::string& supervisor, const std::string& state) {
  ActorLine line;
  line.path = path;
  line.kind = supervisor.empty() ? "supervisor" : "worker";
  line.supervisor = supervisor;
  line.restart = "permanent";
  line.node = "n.1";
  line.looked_after_by = "n/1";
  line.pid = 41;
  line.state = state;
  line.since_s = 3;
  return line;
}

Picture picture() {
  Picture all;
  all.nodes.push_back({{"n", 1}, "up", "", 7, 90, "0.1.0", {"127.0.0.1", 7070}});
  all.nodes.push_back({{"m", 2}, "no answer", "request_timeout", 0, 0, "", {}});
  all.actors = {actor("/jobs/j", "", "running"), actor("/jobs/j/w", "/jobs/j", "running"),
                actor("/jobs/j/w/0", "/jobs/j", "waiting"),
                actor("/jobs/j/w/1", "/jobs/j", "restarting")};
  all.actors[1].steps_per_s = 12.34;
  all.actors[1].step = 5;
  all.actors[2].waits_for = "member 1\non node m";
  all.actors[3].cause = "killed by signal 9";
  all.actors[3].restarts = 2;
  return all;
}

BOOST_AUTO_TEST_CASE(the_table_shows_nodes_and_actors_one_a_line) {
  const auto text = list_table(picture());
  BOOST_TEST(std::count(text.begin(), text.end(), '\n') == 7);
  for (const auto* part :
       {"/nodes/n     node        n     7        up", "no answer   -      -", "request_timeout",
        "waits for member 1 on node m", "killed by signal 9", "12.3"}) {
    BOOST_TEST(text.find(part) != std::string::npos, part << " in\n" << text);
  }
}

BOOST_AUTO_TEST_CASE(json_has_a_key_only_for_what_is_known) {
  const auto json = nlohmann::json::parse(to_text(list_json(picture(), false)));
  BOOST_TEST(json["nodes"][0]["state"] == "up");
  BOOST_TEST(json["nodes"][0]["incarnation"] == "1");
  BOOST_TEST(json["nodes"][1]["why"] == "request_timeout");
  BOOST_TEST(!json["nodes"][1].contains("pid"));
  BOOST_TEST(json["actors"].size() == 4u);
  BOOST_TEST(json["actors"][1]["steps_per_s"] == 12.34);
  BOOST_TEST(!json["actors"][0].contains("steps_per_s"));
  BOOST_TEST(json["actors"][2]["waits_for"] == "member 1\non node m");
  BOOST_TEST(!json.contains("complete"));
  const auto ended = nlohmann::json::parse(to_text(list_json(picture(), true)));
  BOOST_TEST(ended["ended"][0].contains("lived_s"));
}

BOOST_AUTO_TEST_CASE(names_are_paths_of_actors) {
  BOOST_TEST(list_names(picture()) == "/jobs/j\n/jobs/j/w\n/jobs/j/w/0\n/jobs/j/w/1\n");
  BOOST_TEST(tree_names(picture()) == list_names(picture()));
}

BOOST_AUTO_TEST_CASE(the_tree_hangs_actors_off_their_supervisors_and_those_off_nodes) {
  BOOST_TEST(draw_tree(picture()) ==
             "n (node, up, process 7, 90 s)\n"
             "└─ /jobs/j  supervisor  running on n.1, process 41\n"
             "   ├─ w  worker  running on n.1, process 41, 12.3 steps/s\n"
             "   ├─ w/0  worker  waiting on n.1, process 41, waits for member 1\non node m\n"
             "   └─ w/1  worker  restarting on n.1, process 41, 2 restarts\n"
             "m (node, no answer): request_timeout\n");
  const auto json = nlohmann::json::parse(to_text(tree_json(picture())));
  BOOST_TEST(json["nodes"][0]["children"][0]["children"].size() == 3u);
  BOOST_TEST(json["nodes"][1]["children"].empty());
}

BOOST_AUTO_TEST_CASE(a_part_of_a_tree_and_a_circle_are_drawn_to_an_end) {
  auto part = picture();
  part.actors.erase(part.actors.begin());  // their supervisor is not in the picture
  BOOST_TEST(tree_names(part) == list_names(part));
  part.actors = {actor("/a", "/b", "running"), actor("/b", "/a", "running"),
                 actor("/c", "/c", "running")};
  BOOST_TEST(tree_names(part) == "/a\n/b\n/c\n");
}

BOOST_AUTO_TEST_CASE(the_summary_counts) {
  BOOST_TEST(summary(picture()) ==
             "2 nodes (1 no answer), 4 actors: 1 restarting, 2 running, 1 waiting; 12.3 steps/s");
  BOOST_TEST(summary({}) == "0 nodes, 0 actors");
}

BOOST_AUTO_TEST_CASE(times_are_short) {
  BOOST_TEST(short_time(0.4) == "0 s");
  BOOST_TEST(short_time(99) == "99 s");
  BOOST_TEST(short_time(600) == "10 min");
  BOOST_TEST(short_time(7200) == "2 h");
  BOOST_TEST(short_time(864000) == "10 d");
}

}  // namespace
}  // namespace troupe
