// SPDX-License-Identifier: Apache-2.0
#include "actors/core/membership/membership_state.hpp"

#include <boost/test/unit_test.hpp>

#include <set>

namespace troupe {
namespace {

using State = MembershipState;
using namespace std::chrono_literals;

Address address_of(const std::string& name) {
  return {"10.0.0." + std::to_string(name[0] - 'a' + 1), 7070};
}
NodeId node(const std::string& name, std::uint64_t incarnation = 1) { return {name, incarnation}; }
PeerInfo peer(const NodeId& id, NodeRole role = NodeRole::host) {
  return {id, address_of(id.name), "1", 1, role};
}
Member member(const NodeId& id, NodeRole role = NodeRole::host) {
  return {id, address_of(id.name), role};
}

/// A node and what its machine wants to be done.
struct Fixture {
  explicit Fixture(const NodeId& self = node("c"), bool joining = false,
                   NodeRole role = NodeRole::host)
      : state(member(self, role), joining, {}, MembershipOptions{}, 1, State::TimePoint{}) {}

  void up(const std::string& name) { state.peer_up(peer(node(name)), now); }
  void all_up() {
    for (const char* name : {"a", "b", "d", "e"}) up(name);
    take();
  }
  void take() {
    for (auto& effect : state.take_effects()) {
      if (const auto* dial = std::get_if<State::Dial>(&effect)) dials.push_back(dial->to);
      if (const auto* drop = std::get_if<State::Drop>(&effect)) drops.push_back(*drop);
      if (const auto* send = std::get_if<State::Send>(&effect)) sends.push_back(*send);
      if (const auto* end = std::get_if<State::End>(&effect)) ends.push_back(end->why);
    }
  }
  /// Time passes; those who are named give signs of life.
  void pass(Millis time, const std::set<std::string>& living) {
    for (const auto until = now + time; now < until;) {
      now += 200ms;
      if (now.time_since_epoch() % 600ms == 0ms) {
        for (const auto& name : living) state.sign_of_life(node(name), now);
      }
      state.tick(now);
      take();
    }
  }
  [[nodiscard]] MemberState of(const std::string& name) const {
    return state.find(node(name))->state;
  }
  /// To whom probes of a kind went.
  [[nodiscard]] std::vector<NodeId> probes(Probe::Kind kind) const {
    std::vector<NodeId> to;
    for (const auto& send : sends) {
      const auto* probe = std::get_if<Probe>(&send.what);
      if (probe != nullptr && probe->kind == kind) to.push_back(send.to);
    }
    return to;
  }

  State::TimePoint now{};
  State state;
  std::vector<Address> dials;
  std::vector<State::Drop> drops;
  std::vector<State::Send> sends;
  std::vector<Error> ends;
};

struct Joining : Fixture {
  Joining() : Fixture(node("c"), true) {}
};
struct Worker : Fixture {
  Worker() : Fixture(node("c"), false, NodeRole::worker) {}
};

BOOST_FIXTURE_TEST_CASE(who_shakes_hands_is_a_member, Fixture) {
  up("a");
  BOOST_TEST((of("a") == MemberState::alive));
  BOOST_TEST(state.members().size() == 2u);
  BOOST_TEST(state.members()[0].id.name == "c");
}

BOOST_FIXTURE_TEST_CASE(workers_and_clients_are_no_members, Fixture) {
  state.peer_up(peer(node("a"), NodeRole::worker), now);
  state.peer_up(peer(node("b"), NodeRole::client), now);
  BOOST_TEST(state.members().size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(who_is_only_heard_of_is_called_and_not_believed, Fixture) {
  up("a");
  state.hear(node("a"), {{}, false, {{node("b"), address_of("b")}, {node("d"), address_of("d")}}},
             now);
  BOOST_TEST(state.find(node("d")) == nullptr);
  pass(1000ms, {"a"});
  BOOST_TEST(dials.size() == 3u);  // b at once would be too early: it calls first, being smaller
  up("d");
  dials.clear();
  pass(20s, {"a", "d"});
  for (const auto& to : dials) BOOST_TEST(to.host == address_of("b").host);
}

BOOST_FIXTURE_TEST_CASE(hostile_gossip_does_not_grow_what_is_kept, Fixture) {
  up("a");
  Gossip flood;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    flood.members.push_back({{"x" + std::to_string(i), i}, {"10.1.1.1", 1}});
  }
  state.hear(node("a"), flood, now);
  for (std::uint64_t round = 1; round < 40; ++round) {
    for (auto& entry : flood.members) entry.id.incarnation += 10000;
    state.hear(node("a"), flood, now);
  }
  state.tick(now += 200ms);
  take();
  BOOST_TEST(dials.size() <= MembershipOptions{}.max_known);
}

BOOST_FIXTURE_TEST_CASE(entries_that_no_node_can_be_are_ignored, Fixture) {
  up("a");
  const Gossip bad{{},
                   false,
                   {{{"no/name", 1}, address_of("b")},
                    {{"", 1}, address_of("b")},
                    {{"b", 1}, {"10.0.0.2", 0}},
                    {node("c", 99), address_of("d")},  // our own name
                    {node("e"), address_of("c")}}};    // our own address
  state.hear(node("a"), bad, now);
  pass(5s, {"a"});
  BOOST_TEST(dials.empty());
}

BOOST_FIXTURE_TEST_CASE(gossip_of_strangers_is_ignored, Fixture) {
  state.hear(node("z"), {{}, false, {{node("b"), address_of("b")}}}, now);
  pass(2s, {});
  BOOST_TEST(dials.empty());
}

BOOST_FIXTURE_TEST_CASE(silence_leads_to_questions_and_then_to_a_declaration, Fixture) {
  all_up();
  pass(10s, {"a", "b", "d", "e"});
  BOOST_TEST(drops.empty());
  const auto begin = now;
  while (of("e") == MemberState::alive) pass(200ms, {"a", "b", "d"});
  BOOST_TEST((of("e") == MemberState::suspect));
  BOOST_TEST(probes(Probe::Kind::ask).size() == 3u);
  BOOST_TEST(probes(Probe::Kind::ping).size() == 1u);
  while (of("e") == MemberState::suspect) pass(200ms, {"a", "b", "d"});
  BOOST_TEST((of("e") == MemberState::down));
  BOOST_TEST((now - begin <= 6s));
  BOOST_REQUIRE(drops.size() == 1u);
  BOOST_TEST(drops[0].id.name == "e");
  BOOST_TEST((drops[0].why.code == ErrorCode::aborted));
  BOOST_TEST(!state.find(node("e"))->confirmed);
}

BOOST_FIXTURE_TEST_CASE(two_seconds_of_silence_are_not_a_death, Fixture) {
  all_up();
  pass(10s, {"a", "b", "d", "e"});
  for (int i = 0; i < 10; ++i) {
    pass(2s, {"a"});
    pass(3s, {"a", "b", "d", "e"});
  }
  BOOST_TEST(drops.empty());
  BOOST_TEST(sends.empty() == false);
  BOOST_TEST(probes(Probe::Kind::ask).empty());
}

BOOST_FIXTURE_TEST_CASE(whom_others_reach_is_not_declared_down_at_once, Fixture) {
  all_up();
  const auto begin = now;
  while (now - begin < 15s) {
    pass(200ms, {"a", "b", "d"});
    state.hear(node("a"), Probe{Probe::Kind::reached, node("c"), node("e")}, now);
  }
  BOOST_TEST((of("e") == MemberState::suspect));
  while (now - begin < 25s) {
    pass(200ms, {"a", "b", "d"});
    state.hear(node("a"), Probe{Probe::Kind::reached, node("c"), node("e")}, now);
  }
  BOOST_TEST((of("e") == MemberState::down));
}

BOOST_FIXTURE_TEST_CASE(a_suspect_that_is_heard_again_is_alive, Fixture) {
  all_up();
  while (of("e") == MemberState::alive) pass(200ms, {"a", "b", "d"});
  pass(600ms, {"a", "b", "d", "e"});
  BOOST_TEST((of("e") == MemberState::alive));
  BOOST_TEST(drops.empty());
}

BOOST_FIXTURE_TEST_CASE(the_answer_of_the_suspect_itself_counts, Fixture) {
  all_up();
  while (of("e") == MemberState::alive) pass(200ms, {"a", "b", "d"});
  state.hear(node("e"), Probe{Probe::Kind::pong, node("c"), node("e")}, now);
  BOOST_TEST((of("e") == MemberState::alive));
}

BOOST_FIXTURE_TEST_CASE(questions_for_others_are_handed_on_and_answers_come_back, Fixture) {
  all_up();
  state.hear(node("a"), Probe{Probe::Kind::ask, node("a"), node("b")}, now);
  take();
  BOOST_TEST((probes(Probe::Kind::ping) == std::vector{node("b")}));
  state.hear(node("b"), Probe{Probe::Kind::pong, node("a"), node("b")}, now);
  take();
  BOOST_TEST((probes(Probe::Kind::reached) == std::vector{node("a")}));
  state.hear(node("d"), Probe{Probe::Kind::ping, node("a"), node("c")}, now);
  take();
  BOOST_TEST((probes(Probe::Kind::pong) == std::vector{node("d")}));
}

BOOST_FIXTURE_TEST_CASE(probes_in_the_name_of_others_are_ignored, Fixture) {
  all_up();
  state.hear(node("a"), Probe{Probe::Kind::ask, node("b"), node("d")}, now);
  state.hear(node("a"), Probe{Probe::Kind::pong, node("b"), node("d")}, now);
  state.hear(node("z"), Probe{Probe::Kind::ask, node("z"), node("d")}, now);
  state.hear(node("a"), Probe{Probe::Kind::ping, node("a"), node("d")}, now);
  take();
  BOOST_TEST(sends.empty());
}

BOOST_FIXTURE_TEST_CASE(a_suspect_that_is_down_for_others_is_down, Fixture) {
  all_up();
  const Gossip says_down{{}, false, {{node("e"), address_of("e"), MemberState::down}}};
  state.hear(node("a"), says_down, now);
  BOOST_TEST((of("e") == MemberState::alive));  // what we hear ourselves counts more
  while (of("e") == MemberState::alive) pass(200ms, {"a", "b", "d"});
  state.hear(node("a"), says_down, now);
  BOOST_TEST((of("e") == MemberState::down));
}

BOOST_FIXTURE_TEST_CASE(a_lost_connection_is_called_back_to_see_whether_the_process_ended,
                        Fixture) {
  all_up();
  state.peer_down(node("e"), {ErrorCode::unavailable, "the other side closed the connection"}, now);
  BOOST_TEST((of("e") == MemberState::down));
  BOOST_TEST(!state.find(node("e"))->confirmed);
  pass(200ms, {"a", "b", "d"});
  BOOST_REQUIRE(dials.size() == 1u);
  state.connect_failed(dials[0], {ErrorCode::not_found, "nothing listens there"}, now);
  BOOST_TEST(state.find(node("e"))->confirmed);
  dials.clear();
  pass(60s, {"a", "b", "d"});
  BOOST_TEST(dials.empty());
}

BOOST_FIXTURE_TEST_CASE(a_goodbye_is_no_death, Fixture) {
  all_up();
  state.peer_down(node("e"), {ErrorCode::not_found, "it said goodbye"}, now);
  BOOST_TEST((of("e") == MemberState::left));
  state.hear(node("d"), {{}, true, {}}, now);
  BOOST_TEST((of("d") == MemberState::leaving));
  state.peer_down(node("d"), {ErrorCode::unavailable, "closed"}, now);
  BOOST_TEST((of("d") == MemberState::left));
}

BOOST_FIXTURE_TEST_CASE(whoever_leaves_says_so_to_all, Fixture) {
  all_up();
  state.leave();
  take();
  BOOST_TEST(sends.size() == 4u);
  for (const auto& send : sends) BOOST_TEST(std::get<Gossip>(send.what).leaving);
  BOOST_TEST((state.self().state == MemberState::leaving));
}

BOOST_FIXTURE_TEST_CASE(a_minority_that_is_held_dead_yields, Fixture) {
  all_up();
  for (const char* name : {"a", "b", "d"}) {
    state.peer_down(node(name), {ErrorCode::timeout, "no sign of life for 5 s"}, now);
  }
  pass(3s, {"e"});
  BOOST_TEST(dials.size() >= 3u);
  state.connect_failed(address_of("a"), {ErrorCode::timeout, "no answer"}, now);
  take();
  BOOST_TEST(ends.empty());
  state.connect_failed(address_of("a"), {ErrorCode::aborted, "was declared dead"}, now);
  take();
  BOOST_REQUIRE(ends.size() == 1u);
  BOOST_TEST((ends[0].code == ErrorCode::aborted));
}

BOOST_FIXTURE_TEST_CASE(a_majority_does_not_yield_to_one, Fixture) {
  all_up();
  state.peer_down(node("d"), {ErrorCode::timeout, "silent"}, now);
  state.connect_failed(address_of("d"), {ErrorCode::aborted, "was declared dead"}, now);
  pass(10s, {"a", "b", "e"});
  state.connect_failed(address_of("d"), {ErrorCode::aborted, "was declared dead"}, now);
  take();
  BOOST_TEST(ends.empty());
}

BOOST_FIXTURE_TEST_CASE(of_two_that_both_stay_the_greater_yields_in_the_end, Fixture) {
  all_up();
  for (const char* name : {"b", "d"}) {
    state.peer_down(node(name), {ErrorCode::unavailable, "reset"}, now);
    state.connect_failed(address_of(name), {ErrorCode::aborted, "was declared dead"}, now);
  }
  pass(25s, {"a", "e"});
  state.connect_failed(address_of("d"), {ErrorCode::aborted, "was declared dead"}, now);
  take();
  BOOST_TEST(ends.empty());  // d is greater than c
  state.connect_failed(address_of("b"), {ErrorCode::aborted, "was declared dead"}, now);
  take();
  BOOST_TEST(ends.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(of_two_halves_the_one_with_the_smallest_stays, Fixture) {
  for (const char* name : {"a", "b", "d"}) up(name);
  for (const char* name : {"b", "d"}) {
    state.peer_down(node(name), {ErrorCode::timeout, "silent"}, now);
    state.connect_failed(address_of(name), {ErrorCode::aborted, "was declared dead"}, now);
  }
  take();
  BOOST_TEST(ends.empty());  // a is on this side

  Fixture other;
  for (const char* name : {"a", "b", "d"}) other.up(name);
  for (const char* name : {"a", "d"}) {
    other.state.peer_down(node(name), {ErrorCode::timeout, "silent"}, now);
  }
  other.state.connect_failed(address_of("a"), {ErrorCode::aborted, "was declared dead"}, now);
  other.take();
  BOOST_TEST(other.ends.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(whoever_is_told_by_a_goodbye_that_it_is_dead_yields, Fixture) {
  up("d");
  state.peer_down(node("d"), {ErrorCode::aborted, "declared dead by d"}, now);
  take();
  BOOST_TEST(ends.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(whoever_was_stopped_does_not_declare_the_others_dead, Fixture) {
  all_up();
  pass(5s, {"a", "b", "d", "e"});
  now += 60s;
  state.tick(now);
  take();
  pass(2s, {});
  BOOST_TEST(drops.empty());
  for (const char* name : {"a", "b", "d", "e"}) BOOST_TEST((of(name) == MemberState::alive));
  pass(4s, {});
  BOOST_TEST(drops.size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(a_new_incarnation_takes_the_place_of_one_that_is_down, Fixture) {
  all_up();
  state.peer_down(node("e"), {ErrorCode::timeout, "silent"}, now);
  state.peer_up(peer(node("e", 2)), now);
  BOOST_TEST(state.find(node("e"))->confirmed);
  BOOST_TEST((state.find(node("e", 2))->state == MemberState::alive));
  take();
  dials.clear();
  pass(3s, {"a", "b", "d"});
  for (const auto& to : dials) BOOST_TEST(to.host != address_of("e").host);
}

BOOST_FIXTURE_TEST_CASE(a_name_that_is_taken_is_refused, Fixture) {
  all_up();
  auto second = peer(node("e", 2));
  second.control.host = "10.0.0.99";
  state.peer_up(second, now);
  auto like_us = peer(node("c", 2));
  like_us.control.host = "10.0.0.98";
  state.peer_up(like_us, now);
  take();
  BOOST_REQUIRE(drops.size() == 2u);
  for (const auto& drop : drops) {
    BOOST_TEST((drop.why.code == ErrorCode::already_exists));
    BOOST_TEST(drop.why.what.find("--name") != std::string::npos);
  }
  BOOST_TEST((of("e") == MemberState::alive));
}

BOOST_FIXTURE_TEST_CASE(who_joins_under_a_taken_name_ends, Joining) {
  auto first = peer(node("c", 2));
  first.control.host = "10.0.0.98";
  state.peer_up(first, now);
  take();
  BOOST_TEST(drops.empty());
  state.peer_down(first.id, {ErrorCode::already_exists, "the name 'c' is taken"}, now);
  take();
  BOOST_REQUIRE(ends.size() == 1u);
  BOOST_TEST((ends[0].code == ErrorCode::already_exists));
}

BOOST_FIXTURE_TEST_CASE(workers_neither_gossip_nor_judge, Worker) {
  up("a");
  pass(30s, {});
  BOOST_TEST((of("a") == MemberState::alive));
  BOOST_TEST(sends.empty());
  state.peer_down(node("a"), {ErrorCode::aborted, "declared dead"}, now);
  take();
  BOOST_TEST(ends.empty());
}

BOOST_FIXTURE_TEST_CASE(the_dead_are_forgotten_after_a_while, Fixture) {
  all_up();
  state.peer_down(node("e"), {ErrorCode::not_found, "it said goodbye"}, now);
  pass(500s, {"a", "b", "d"});
  BOOST_TEST(state.members().size() == 5u);
  pass(200s, {"a", "b", "d"});
  BOOST_TEST(state.members().size() == 4u);
}

}  // namespace
}  // namespace troupe
