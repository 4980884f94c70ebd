// SPDX-License-Identifier: Apache-2.0
//
// Supervisors that take over what another has launched: nodes on a network inside this process, and
// real host actors that launch real processes. A process only sleeps; its node is played by a node
// of this process, under the name that the host expects.
#include "actors/core/node.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/process_host.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/host_actor.hpp"
#include "actors/core/supervise/node_directory.hpp"
#include "actors/core/supervise/remote_starter.hpp"
#include "actors/core/supervise/succession.hpp"
#include "actors/net/loopback_transport.hpp"
#include "messages/supervise.capnp.h"
#include "tests/support/scratch.hpp"
#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <variant>

namespace troupe {
namespace {

using test::eventually;
constexpr auto patience = std::chrono::seconds(20);
const std::string path = "/jobs/x/w/0";

BOOST_AUTO_TEST_CASE(what_is_nowhere_is_launched_and_the_latest_orphan_is_adopted) {
  const NodeId h1{"h1", 1};
  const NodeId h2{"h2", 2};
  const auto nothing = succeed({});
  BOOST_TEST(!nothing.adopt);
  BOOST_TEST(nothing.waits_for == "");
  const FoundLife older{h2, 3, true, true};
  const FoundLife latest{h1, 4, true, true};
  for (const auto& found : {std::vector{older, latest}, std::vector{latest, older}}) {
    const auto what = succeed(found);
    BOOST_CHECK(what.adopt == latest);
    BOOST_CHECK(what.end == std::vector{older});
    BOOST_TEST(what.waits_for == "");
  }
}

BOOST_AUTO_TEST_CASE(a_successor_waits_for_an_owner_and_for_what_starts_or_ends) {
  const NodeId h1{"h1", 1};
  const FoundLife orphan{{"h2", 2}, 9, true, true};
  const auto owned = succeed({orphan, {h1, 1, false, true}});
  BOOST_TEST(owned.waits_for == "its owner to be gone: it lives on node h1");
  BOOST_TEST((!owned.adopt && owned.end.empty()));
  const auto starting = succeed({orphan, {h1, 10, true, false}});
  BOOST_TEST(starting.waits_for == "node h1, where it is starting or ending");
  BOOST_TEST((!starting.adopt && starting.end.empty()));
}

/// Lets a test take a node away from others, as if it had been killed: it does nothing in order.
class Hub final : public LoopbackHub {
 public:
  std::unique_ptr<Transport> make(PeerInfo self) override {
    auto made = LoopbackHub::make(self);
    transports[self.id.name] = made.get();
    return made;
  }
  std::map<std::string, Transport*> transports;
};

struct Cluster {
  Cluster() {
    register_node_messages(kinds);
    ActorKind kind;
    kind.name = "worker";
    kind.program = "worker";
    kind.spawn = [](const SpawnContext& context) -> Result<caf::actor> {
      return context.node.system().spawn([](caf::event_based_actor* self) -> caf::behavior {
        keep_first_cause(*self);
        return {[](caf::ok_atom) { return caf::ok_atom::value; }};
      });
    };
    kinds.add(std::move(kind));
    std::ofstream(scratch / "worker") << "#!/bin/sh\nexec sleep 600\n";
    std::filesystem::permissions(scratch / "worker", std::filesystem::perms::owner_all);
  }

  std::unique_ptr<Node> node(const std::string& name, NodeRole role) {
    NodeOptions options;
    options.name = name;
    options.role = role;
    options.hub = &hub;
    return Node::start(std::move(options), kinds).value();
  }
  void kill(const Node& node, const std::vector<std::string>& others) {
    for (const auto& other : others) {
      hub.transports.at(other)->drop(node.self().id, {ErrorCode::unavailable, "it is dead"});
    }
  }

  test::Scratch scratch;
  ActorKinds kinds;
  Hub hub;
};

/// A node that launches programs.
struct Host {
  Host(Cluster& cluster, const std::string& name, Millis orphan_time = Millis(60000))
      : node(cluster.node(name, NodeRole::host)) {
    HostOptions options;
    options.table.host = name;
    options.table.total.cpus = 4;
    options.table.orphan_time = orphan_time;
    options.logs = cluster.scratch.path();
    options.find_program = [program = cluster.scratch / "worker"](const std::string&) {
      return Result<std::string>(program.string());
    };
    actor = spawn_host_actor(*node, std::move(options));
  }
  ~Host() {
    caf::scoped_actor self{node->system()};
    self->send_exit(actor, caf::exit_reason::user_shutdown);
    self->wait_for(actor);
    actor = nullptr;
  }

  struct Life {
    int pid = 0;
    bool orphan = false;
    bool ready = false;
  };
  [[nodiscard]] std::vector<Life> lives() const {
    std::vector<Life> all;
    caf::scoped_actor self{node->system()};
    self->request(actor, patience, Msg<msg::ListLaunched>::build([](auto b) { b.setUnder(path); }))
        .receive(
            [&](const Msg<msg::LaunchedList>& list) {
              for (const auto entry : list.read()->getEntries()) {
                all.push_back({static_cast<int>(entry.getLaunched().getPid()), entry.getOrphan(),
                               entry.getReady()});
              }
            },
            [](const caf::error& why) { BOOST_ERROR(from_caf(why).what); });
    return all;
  }

  std::unique_ptr<Node> node;
  caf::actor actor;
};

/// A node with a supervisor's starter of the one child.
struct Owner {
  Owner(Cluster& cluster, const std::string& name, std::uint32_t term,
        const std::vector<const Host*>& hosts)
      : node(cluster.node(name, NodeRole::control)) {
    auto directory = PeerDirectory::make(*node);
    std::vector<Address> members;
    for (const auto* host : hosts) members.push_back(host->node->self().control);
    BOOST_TEST(test::why(directory->join(members, Millis(20000))) == "");
    processes = make_cluster_host(
        *node, std::move(directory), make_spreading_policy(), [this](Event event) {
          const std::lock_guard lock(mutex);
          if (event.name == "actor_waits")
            waited_for.push_back(std::get<std::string>(event.fields.at(1).second));
        });
    HostedActor actor;
    actor.node_name = "w";
    actor.binary = "worker";
    actor.log = "x/w/0.log";
    actor.group = "/jobs/x/w";
    actor.term = term;
    actor.needs.amounts.cpus = 1;
    actor.spawn = Msg<msg::Spawn>::build([](msg::Spawn::Builder b) {
      b.setKind("worker");
      b.setPath(path);
      b.setCount(1);
    });
    starter = processes->starter(std::move(actor));
  }
  void start() {
    life = starter->start(
        [this](Result<caf::actor> result) {
          const std::lock_guard lock(mutex);
          reported = std::move(result);
        },
        {});
  }
  /// The child, once it is reported.
  [[nodiscard]] std::optional<ActorRef> child() {
    BOOST_REQUIRE(eventually([&] {
      const std::lock_guard lock(mutex);
      return reported.has_value();
    }));
    if (!*reported) return std::nullopt;
    return node->ref(**reported);
  }
  [[nodiscard]] bool has_waited_for(const std::string& what) {
    const std::lock_guard lock(mutex);
    return std::find(waited_for.begin(), waited_for.end(), what) != waited_for.end();
  }

  std::mutex mutex;
  std::vector<std::string> waited_for;
  std::optional<Result<caf::actor>> reported;
  std::unique_ptr<Node> node;
  std::shared_ptr<ProcessHost> processes;
  std::shared_ptr<ChildStarter> starter;
  std::unique_ptr<ChildLife> life;

  ~Owner() {
    life.reset();
    starter.reset();
    reported.reset();
    processes.reset();
  }
};

/// The process that the host has launched, and the node that it would be.
std::unique_ptr<Node> play_worker(Cluster& cluster, const Host& host, const std::string& name) {
  BOOST_REQUIRE(eventually([&] { return host.lives().size() == 1; }));
  BOOST_TEST(!host.lives().at(0).ready);
  auto worker = cluster.node(name, NodeRole::worker);
  worker->connect(host.node->self().control);
  return worker;
}

bool runs(int pid) { return ::kill(pid, 0) == 0; }

BOOST_AUTO_TEST_CASE(a_successor_waits_for_the_owner_to_be_gone_and_adopts_the_living_worker) {
  Cluster cluster;
  const Host h1(cluster, "h1");
  const Host h2(cluster, "h2");
  Owner first(cluster, "first", 1, {&h1, &h2});
  first.start();
  const auto worker = play_worker(cluster, h1, "w.1");
  const auto child = first.child();
  BOOST_REQUIRE(child);
  const int pid = h1.lives().at(0).pid;

  Owner second(cluster, "second", 2, {&h1, &h2});
  second.start();
  BOOST_TEST(eventually([&] {
    return second.has_waited_for("waits for its owner to be gone: it lives on node h1");
  }));
  cluster.kill(*first.node, {"w.1", "h1", "h2", "second"});
  const auto same = second.child();
  BOOST_REQUIRE(same);
  BOOST_TEST((same->node == child->node && same->actor == child->actor));
  BOOST_REQUIRE(h1.lives().size() == 1u);
  BOOST_TEST(h1.lives().at(0).pid == pid);
  BOOST_TEST((h1.lives().at(0).ready && !h1.lives().at(0).orphan));
  BOOST_TEST(h2.lives().empty());
  BOOST_TEST(runs(pid));

  // It is the successor's in every way: that ends it, and hears how it ended.
  second.life->ask_to_stop();
  BOOST_TEST(eventually([&] { return h1.lives().empty(); }));
  BOOST_TEST(second.life->post_mortem() ==
             "node h1: process " + std::to_string(pid) + ": killed by signal 15 (Terminated)");
  BOOST_TEST(!runs(pid));
}

BOOST_AUTO_TEST_CASE(a_worker_without_successor_ends_when_its_time_is_over) {
  Cluster cluster;
  const Host host(cluster, "h1", Millis(200));
  Owner first(cluster, "first", 1, {&host});
  first.start();
  const auto worker = play_worker(cluster, host, "w.1");
  BOOST_REQUIRE(first.child());
  const int pid = host.lives().at(0).pid;
  BOOST_TEST(runs(pid));
  cluster.kill(*first.node, {"w.1", "h1"});
  BOOST_TEST(eventually([&] { return host.lives().empty(); }));
  BOOST_TEST(!runs(pid));
}

BOOST_AUTO_TEST_CASE(a_successor_launches_what_lives_nowhere_and_again_what_it_had_adopted) {
  Cluster cluster;
  const Host host(cluster, "h1");
  Owner second(cluster, "second", 2, {&host});
  second.start();
  auto worker = play_worker(cluster, host, "w.1");
  BOOST_REQUIRE(second.child());
  cluster.kill(*second.node, {"w.1", "h1"});
  BOOST_REQUIRE(eventually([&] { return host.lives().at(0).orphan; }));

  Owner third(cluster, "third", 3, {&host});
  third.start();
  const auto adopted = third.child();
  BOOST_REQUIRE(adopted);
  BOOST_TEST(adopted->node.name == "w.1");
  const int pid = host.lives().at(0).pid;
  BOOST_REQUIRE(::kill(pid, SIGKILL) == 0);
  BOOST_TEST(third.life->post_mortem() ==
             "node h1: process " + std::to_string(pid) + ": killed by signal 9 (Killed)");
  worker.reset();
  third.reported.reset();
  third.start();  // its next life
  worker = play_worker(cluster, host, "w.2");
  const auto next = third.child();
  BOOST_REQUIRE(next);
  BOOST_TEST(next->node.name == "w.2");
}

}  // namespace
}  // namespace troupe
