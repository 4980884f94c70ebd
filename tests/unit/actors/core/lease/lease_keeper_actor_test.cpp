// SPDX-License-Identifier: Apache-2.0
#include "actors/core/lease/lease_keeper_actor.hpp"

#include "actors/core/lease/store_actor.hpp"
#include "tests/support/lease_client.hpp"
#include "tests/support/memory_store.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <stdexcept>

namespace troupe {
namespace {

using test::eventually;

struct Stage {
  ~Stage() {
    for (const auto& actor : actors) caf::anon_send_exit(actor, caf::exit_reason::kill);
  }
  caf::actor store() {
    return keep(spawn_store_actor(system, std::make_unique<test::MemoryStore>(data)));
  }
  caf::actor keeper(const std::string& owner, const test::LeaseClient& client, Millis ttl) {
    return keep(spawn_lease_keeper(system, store(), {"singleton", owner, ttl}, client.actor()));
  }
  caf::actor keep(caf::actor actor) {
    actors.push_back(actor);
    return actor;
  }
  void set_reachable(bool reachable) {
    const std::lock_guard lock(data->mutex);
    data->reachable = reachable;
  }

  std::shared_ptr<test::MemoryStoreData> data = std::make_shared<test::MemoryStoreData>();
  caf::actor_system_config config;
  caf::actor_system system{config};
  std::vector<caf::actor> actors;
};

BOOST_AUTO_TEST_CASE(a_lease_goes_from_who_ends_to_who_waits) {
  Stage stage;
  const test::LeaseClient one(stage.system);
  const test::LeaseClient other(stage.system);
  const auto keeper = stage.keeper("a/1", one, Millis(1000));
  BOOST_REQUIRE(eventually([&] { return one.held().has_value(); }));
  stage.keeper("b/1", other, Millis(1000));
  BOOST_REQUIRE(eventually([&] { return !other.told().waits.empty(); }));
  BOOST_TEST(other.told().waits[0].why.what.find("held by a/1") != std::string::npos);

  const auto started = BootClock::now();  // for longer than one term
  BOOST_REQUIRE(eventually([&] { return BootClock::now() > started + Millis(1500); }));
  BOOST_TEST(one.held().has_value());
  BOOST_TEST(one.told().held.size() == 1u);
  caf::anon_send(keeper, LeaseEnd{});
  BOOST_TEST(eventually([&] { return one.told().ended == 1; }));
  BOOST_TEST(!one.held().has_value());
  BOOST_REQUIRE(eventually([&] { return other.held().has_value(); }));
  BOOST_TEST(other.held()->lease.generation > one.told().held[0].lease.generation);
}

BOOST_AUTO_TEST_CASE(a_store_that_cannot_be_reached_stops_the_holder_in_time) {
  Stage stage;
  const test::LeaseClient client(stage.system);
  stage.keeper("a/1", client, Millis(1000));
  BOOST_REQUIRE(eventually([&] { return client.held().has_value(); }));
  stage.set_reachable(false);
  BOOST_REQUIRE(eventually([&] { return client.told().stops.size() == 1; }));
  const auto told = client.told();
  BOOST_TEST(told.left[0].count() > 0);
  BOOST_TEST(told.stops[0].why.what.find("the store cannot be reached") != std::string::npos);
  stage.set_reachable(true);
  BOOST_TEST(eventually([&] { return client.held().has_value(); }));
}

BOOST_AUTO_TEST_CASE(a_store_whose_actor_dies_stops_the_holder_in_time) {
  Stage stage;
  const test::LeaseClient client(stage.system);
  const auto store = stage.store();
  stage.keep(
      spawn_lease_keeper(stage.system, store, {"singleton", "a/1", Millis(1000)}, client.actor()));
  BOOST_REQUIRE(eventually([&] { return client.held().has_value(); }));
  caf::anon_send(store, StoreCall{[](Store&) { throw std::runtime_error("disk on fire"); }});
  BOOST_REQUIRE(eventually([&] { return client.told().stops.size() == 1; }));
  BOOST_TEST(client.told().left[0].count() > 0);
  BOOST_TEST(client.told().stops[0].why.what.find("disk on fire") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_keeper_ends_with_its_client_and_leaves_the_lease_to_run_out) {
  Stage stage;
  caf::actor keeper;
  {
    const test::LeaseClient client(stage.system);
    keeper = stage.keeper("a/1", client, Millis(1000));
    BOOST_REQUIRE(eventually([&] { return client.held().has_value(); }));
  }
  caf::scoped_actor self{stage.system};
  self->wait_for(keeper);
  test::MemoryStore store(stage.data);
  BOOST_TEST(store.holder("singleton").value().has_value());
  BOOST_TEST(eventually([&] { return !store.holder("singleton").value(); }));
}

}  // namespace
}  // namespace troupe
