// SPDX-License-Identifier: Apache-2.0
//
// A lease and some keys in an etcd of three members, with etcd's own times: its leader is killed,
// then a second member, then both come back.
#include "tests/support/etcd.hpp"

#include "actors/control/store/etcd_store.hpp"
#include "actors/core/lease/store_actor.hpp"
#include "tests/support/lease_client.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <csignal>
#include <cstdlib>

namespace troupe {
namespace {

using test::eventually;
using test::why;

/// Three members, and a client that holds a lease of 5 s there.
struct Stage {
  Stage() {
    keeper = spawn_lease_keeper(system, leases, {"singleton", "a/1", Millis(5000)}, client.actor());
    BOOST_REQUIRE(eventually([&] { return client.held().has_value(); }));
    BOOST_REQUIRE(store->put("key", "before", {}).has_value());
  }
  ~Stage() {
    for (const auto& actor : {keeper, leases}) caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
  std::unique_ptr<Store> open() {
    return open_etcd_store(std::make_unique<EtcdClient>(etcd.addresses()), "/test");
  }
  std::size_t leader() {
    BOOST_REQUIRE(eventually([&] { return etcd.leader().has_value(); }));
    return *etcd.leader();
  }
  /// How long until a write succeeds.
  Millis writes_again() {
    const auto start = BootClock::now();
    Result<Revision> put = fail(ErrorCode::internal, "not tried");
    BOOST_TEST(eventually([&] { return (put = store->put("key", "after", {})).has_value(); }),
               why(put));
    return BootClock::now() - start;
  }
  /// The lease is held, the same or a later one; whoever had to stop heard it before the end.
  Generation holds_again() {
    BOOST_REQUIRE(eventually([&] { return client.held().has_value(); }));
    for (const auto left : client.told().left) BOOST_TEST(left.count() > 0);
    return client.held()->lease.generation;
  }

  test::EtcdCluster etcd{3};
  std::unique_ptr<Store> store = open();
  caf::actor_system_config config;
  caf::actor_system system{config};
  test::LeaseClient client{system};
  caf::actor leases = spawn_store_actor(system, open());
  caf::actor keeper;
};

BOOST_AUTO_TEST_CASE(members_are_killed_until_none_decides_and_come_back, *test::if_etcd()) {
  Stage stage;
  const auto first = stage.holds_again();
  const auto leader = stage.leader();
  stage.etcd.kill(leader);
  const auto writes = stage.writes_again();
  BOOST_TEST_MESSAGE("leader killed: writes again after " << writes.count() << " ms");
  BOOST_TEST(writes.count() < 8000);
  const auto killed = BootClock::now();
  BOOST_REQUIRE(eventually([&] { return BootClock::now() > killed + Millis(6000); }));
  const auto second = stage.holds_again();
  BOOST_TEST_MESSAGE("leader killed: the lease was "
                     << (second == first ? "kept" : "lost and won"));
  BOOST_TEST(second >= first);

  const auto next = (leader + 1) % 3;  // leads or not: no more than half are left
  const auto stops = stage.client.told().stops.size();
  stage.etcd.kill(next);
  const auto refused = stage.open()->acquire("another", "b/1", Millis(5000));
  BOOST_REQUIRE(!refused);
  BOOST_TEST_MESSAGE("no quorum: " << refused.error().what);
  for (const auto i : {leader, next}) {
    const auto words = to_string(stage.etcd.address(i)) + ": Connection refused";
    BOOST_TEST(refused.error().what.find(words) != std::string::npos, why(refused));
  }
  BOOST_TEST(refused.error().what.find("more than half of its members") != std::string::npos);
  BOOST_REQUIRE(eventually([&] { return stage.client.told().stops.size() == stops + 1; }));
  const auto told = stage.client.told();
  BOOST_TEST(told.left.back().count() > 0);
  BOOST_TEST_MESSAGE("told to stop " << told.left.back().count()
                                     << " ms early: " << told.stops.back().why.what);
  BOOST_TEST(told.stops.back().why.what.find("could not be renewed") != std::string::npos);

  stage.etcd.start(leader);
  stage.etcd.start(next);
  const auto back = stage.writes_again();
  BOOST_TEST_MESSAGE("members back: writes again after " << back.count() << " ms");
  BOOST_TEST(stage.holds_again() > second);
  BOOST_TEST(stage.store->get("key").value()->value == "after");
}

boost::test_tools::assertion_result long_run(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer(std::getenv("TROUPE_LONG") != nullptr);
  answer.message() << "only with TROUPE_LONG";
  return answer;
}

BOOST_AUTO_TEST_CASE(stopped_leaders_are_gone_round_again_and_again,
                     *test::if_etcd() * boost::unit_test::precondition(&long_run)) {
  Stage stage;
  auto last = stage.holds_again();
  for (int round = 0; round < 5; ++round) {
    const auto leader = stage.leader();
    stage.etcd.signal(leader, SIGSTOP);
    BOOST_TEST(stage.writes_again().count() < 12000);
    const auto next = stage.holds_again();
    BOOST_TEST(next >= last);
    last = next;
    stage.etcd.signal(leader, SIGCONT);
  }
}

}  // namespace
}  // namespace troupe
