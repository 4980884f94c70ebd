// SPDX-License-Identifier: Apache-2.0
//
// One actor, the placer, knows where the children of this process's supervisors are. A child is
// wanted, then placed (its launch was asked for), then up; it goes back to wanted when the host
// finds that it does not fit after all. Its life and the supervisor share LifeNews: why it ended.
// A child that may live already is looked for on every host, and adopted, before it is placed; each
// time that it has to wait it is looked for again.
#include "actors/core/supervise/remote_starter.hpp"

#include "actors/base/log.hpp"
#include "actors/core/ask.hpp"
#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/supervise/host_messages.hpp"
#include "actors/core/supervise/succession.hpp"
#include "messages/wire_ids.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>

namespace troupe {
namespace {

constexpr Millis launch_time(150000);  // the host gives up before
constexpr Millis list_time(5000);
constexpr auto try_again_every = std::chrono::seconds(2);
constexpr auto news_time = std::chrono::seconds(1);

/// What becomes known of a life: written by the placer, read by the supervisor.
struct LifeNews {
  std::mutex mutex;
  std::condition_variable told;
  std::string where;      ///< "node n1: process 123"
  std::string how;        ///< empty: nobody knows yet
  std::string lost_with;  ///< the node, where that is gone

  void end(const std::string& why, const std::string& with = {}) {
    {
      const std::lock_guard lock(mutex);
      if (!how.empty()) return;
      how = why;
      lost_with = with;
    }
    told.notify_all();
  }
};

using Key = std::pair<std::string, std::uint64_t>;  ///< path and life

struct Want {
  using actor_message = void;
  Key key;
  std::shared_ptr<const HostedActor> actor;
  ChildStarter::Report report;
  std::shared_ptr<LifeNews> news;
  bool adopts = false;  ///< where it lives already
  Kept kept;
};
struct End {
  using actor_message = void;
  Key key;
  bool kill = false;
  bool forget = false;  ///< nobody waits for its end any more
};

struct TryAgain {
  using actor_message = void;
};

/// What the hosts have said so far of a child that may live already.
struct Search {
  std::map<NodeId, HostNode> hosts;
  std::size_t open = 0;  ///< have not answered
  std::vector<FoundLife> found;
  std::string unknown;  ///< of which node
};

struct Child {
  Want want;
  std::uint64_t life = 0;  ///< its number on its host
  std::optional<Search> search;
  bool told_to_end = false;
  std::optional<HostNode> where;  ///< empty: it waits for a node
  bool up = false;
  caf::actor actor;
  std::string waits_for;
};

using Children = std::map<Key, Child>;

struct State {
  Node* node = nullptr;
  std::shared_ptr<NodeDirectory> directory;
  std::unique_ptr<PlacementPolicy> policy;
  EventSink emit;
  Children children;
  std::map<NodeId, caf::actor> watched;  ///< hosts
};
using Self = caf::stateful_actor<State>;

PlacementRequest request_for(Self* self, const Child& child) {
  const auto& actor = *child.want.actor;
  PlacementRequest request{child.want.key.first, actor.needs, {}};
  for (const auto& [key, other] : self->state.children) {
    if (other.where && &other != &child && other.want.actor->group == actor.group) {
      request.siblings.push_back(other.where->node.id);
    }
  }
  return request;
}

/// The hosts, less what has been asked of them and they may not have counted yet.
std::vector<HostNode> hosts_now(Self* self) {
  auto hosts = self->state.directory->hosts();
  for (auto& host : hosts) {
    for (const auto& [key, child] : self->state.children) {
      if (!child.where || child.up || child.want.adopts) continue;
      if (child.where->node.id != host.node.id) continue;
      const auto& takes = child.want.actor->needs.amounts;
      auto& free = host.node.free;
      free.cpus -= std::min(free.cpus, takes.cpus);
      free.memory.count -= std::min(free.memory.count, takes.memory.count);
      free.gpu -= std::min(free.gpu, takes.gpu);
    }
  }
  return hosts;
}

void wait_for(Self* self, Child& child, const std::string& what) {
  child.where.reset();
  if (child.waits_for == what) return;
  child.waits_for = what;
  if (!self->state.emit) return;
  self->state.emit(
      {"actor_waits", {{"path", child.want.key.first}, {"what", "waits for " + what}}});
}

void report(Child& child, Result<caf::actor> actor) {
  if (child.want.report) std::exchange(child.want.report, nullptr)(std::move(actor));
}

Msg<msg::Launch> launch_message(Node& node, const Want& want) {
  const auto& actor = *want.actor;
  const auto fill = [&](msg::Launch::Builder b) {
    b.setLife(want.key.second);
    b.setGroup(actor.group);
    b.setNodeName(actor.node_name);
    b.setProgram(actor.binary);
    write_spawn(b.initSpawn(), *actor.spawn.read());
    write_kept(b.getSpawn(), node, want.kept);
    auto variables = b.initEnvironment(static_cast<unsigned>(actor.environment.size()));
    for (unsigned i = 0; i < actor.environment.size(); ++i) {
      variables[i].setName(actor.environment[i].first);
      variables[i].setValue(actor.environment[i].second);
    }
    b.setLog(actor.log.string());
    write_resources(b.initTakes(), actor.needs.amounts);
  };
  return Msg<msg::Launch>::build(fill, want.kept.state);
}

void on_launched(Self* self, const Key& key, msg::Launched::Reader answer) {
  const auto it = self->state.children.find(key);
  if (it == self->state.children.end()) return;
  auto& child = it->second;
  child.up = true;
  child.want.adopts = false;
  child.actor = self->state.node->resolve(read_ref(answer.getActor()));
  {
    const std::lock_guard lock(child.want.news->mutex);
    child.want.news->where =
        "node " + child.where->node.id.name + ": process " + std::to_string(answer.getPid());
  }
  report(child, child.actor);
}

/// It has no host after all.
void wait_or_end(Self* self, Children::iterator it, const std::string& what) {
  if (!it->second.told_to_end) return wait_for(self, it->second, what);
  const Error why{ErrorCode::aborted, "it was told to end while it waited for a node"};
  it->second.want.news->end(why.what);
  report(it->second, Failure(why));
  self->state.children.erase(it);
}

void on_refused(Self* self, const Key& key, const NodeId& host, const Error& why) {
  const auto it = self->state.children.find(key);
  if (it == self->state.children.end()) return;
  if (why.code == ErrorCode::resource_exhausted) {
    // Others were faster; the directory hears of it soon.
    return wait_or_end(self, it, "a node with room for it (" + why.what + ")");
  }
  const auto said = "node " + host.name + ": " + why.what;
  const bool lost = !self->state.watched.contains(host);
  it->second.want.news->end(said, lost ? to_string(host) : "");
  report(it->second, Failure(Error{why.code, said}));
  self->state.children.erase(it);
}

void go_to(Self* self, Child& child, const HostNode& host) {
  child.where = host;
  child.waits_for.clear();
  if (self->state.watched.try_emplace(host.node.id, host.host).second) self->monitor(host.host);
}

void launch_somewhere(Self* self, Child& child) {
  auto& state = self->state;
  const auto request = request_for(self, child);
  const auto hosts = hosts_now(self);
  std::vector<PlacementNode> nodes;
  for (const auto& host : hosts) nodes.push_back(host.node);
  const auto placement = state.policy->place(request, nodes);
  if (!placement.node) return wait_for(self, child, "a node with " + explain(request, placement));
  const auto chosen = std::find_if(hosts.begin(), hosts.end(), [&](const HostNode& host) {
    return host.node.id == *placement.node;
  });
  const auto id = chosen->node.id;
  go_to(self, child, *chosen);
  child.want.adopts = false;
  ask(self, chosen->host, launch_time, launch_message(*state.node, child.want))
      .then([self, key = child.want.key](
                const Msg<msg::Launched>& answer) { on_launched(self, key, *answer.read()); },
            [self, key = child.want.key, id](caf::error& why) {
              on_refused(self, key, id, from_caf(why));
            });
}

Msg<msg::EndLife> end_message(const std::string& path, std::uint64_t life, bool kill) {
  return Msg<msg::EndLife>::build([&](msg::EndLife::Builder b) {
    b.setPath(path);
    b.setLife(life);
    b.setKill(kill);
  });
}

void adopt(Self* self, Child& child, const HostNode& host, std::uint64_t life) {
  const auto key = child.want.key;
  go_to(self, child, host);
  child.life = life;
  ask(self, host.host, launch_time, Msg<msg::Adopt>::build([&](msg::Adopt::Builder b) {
        b.setPath(key.first);
        b.setLife(life);
      }))
      .then(
          [=](const Msg<msg::Launched>& answer) {
            log_info("{} lives on node {} and is adopted (process {})", key.first,
                     host.node.id.name, answer.read()->getPid());
            on_launched(self, key, *answer.read());
          },
          [=](caf::error& why) {
            const auto it = self->state.children.find(key);
            if (it == self->state.children.end()) return;
            it->second.life = key.second;
            wait_or_end(self, it, "node " + host.node.id.name + ": " + from_caf(why).what);
          });
}

/// All hosts have answered.
void conclude(Self* self, Child& child) {
  const auto search = *std::exchange(child.search, std::nullopt);
  if (!search.unknown.empty()) {
    return wait_for(self, child, "node " + search.unknown + " to say whether it lives there");
  }
  const auto what = succeed(search.found);
  if (!what.waits_for.empty()) return wait_for(self, child, what.waits_for);
  if (!what.adopt) return launch_somewhere(self, child);
  for (const auto& old : what.end) {
    self->send(search.hosts.at(old.host).host, end_message(child.want.key.first, old.life, true));
  }
  adopt(self, child, search.hosts.at(what.adopt->host), what.adopt->life);
}

void read_found(msg::LaunchedList::Reader list, const std::string& path, const NodeId& host,
                std::vector<FoundLife>& found) {
  for (const auto entry : list.getEntries()) {
    if (path != entry.getLaunched().getPath().cStr()) continue;  // it is below this one
    found.push_back({host, entry.getLaunched().getLife(), entry.getOrphan(), entry.getReady()});
  }
}

void look_for_life(Self* self, Child& child) {
  const auto hosts = self->state.directory->hosts();
  if (hosts.empty()) return launch_somewhere(self, child);
  const auto key = child.want.key;
  auto& search = child.search.emplace();
  search.open = hosts.size();
  for (const auto& host : hosts) search.hosts[host.node.id] = host;
  const auto note = [=](const auto& what) {
    const auto it = self->state.children.find(key);
    if (it == self->state.children.end() || !it->second.search) return;
    what(*it->second.search);
    if (--it->second.search->open == 0) conclude(self, it->second);
  };
  const auto list =
      Msg<msg::ListLaunched>::build([&](msg::ListLaunched::Builder b) { b.setUnder(key.first); });
  for (const auto& host : hosts) {
    const auto id = host.node.id;
    ask(self, host.host, list_time, list)
        .then(
            [=](const Msg<msg::LaunchedList>& answer) {
              note([&](Search& all) { read_found(*answer.read(), key.first, id, all.found); });
            },
            [=](caf::error&) { note([&](Search& all) { all.unknown = id.name; }); });
  }
}

void place(Self* self, Child& child) {
  if (child.search) return;
  if (child.want.adopts) return look_for_life(self, child);
  launch_somewhere(self, child);
}

void place_those_that_wait(Self* self) {
  for (auto& [key, child] : self->state.children) {
    if (!child.where) place(self, child);
  }
}

void on_end(Self* self, const End& end) {
  const auto it = self->state.children.find(end.key);
  if (it == self->state.children.end()) return;
  auto& child = it->second;
  if (end.forget) child.want.report = nullptr;
  child.told_to_end = true;
  if (!child.where) return wait_or_end(self, it, {});
  self->send(child.where->host, end_message(end.key.first, child.life, end.kill));
  if (end.forget) self->state.children.erase(it);
}

void on_life_ended(Self* self, msg::LifeEnded::Reader news) {
  const std::string path = news.getPath();
  const auto it =
      std::find_if(self->state.children.begin(), self->state.children.end(), [&](const auto& one) {
        return one.first.first == path && one.second.where && one.second.life == news.getLife();
      });
  if (it == self->state.children.end()) return;
  const auto& where = it->second.where;
  const bool lost = news.getHostStops() && where;
  it->second.want.news->end(
      lost ? "node " + where->node.id.name + " is stopping" : std::string(news.getHow()),
      lost ? to_string(where->node.id) : "");
}

/// All on that host is lost: its processes end with it, and whoever does not is told to.
void on_host_down(Self* self, const caf::down_msg& down) {
  auto& state = self->state;
  const auto host = std::find_if(state.watched.begin(), state.watched.end(),
                                 [&](const auto& one) { return one.second == down.source; });
  if (host == state.watched.end()) return;
  const auto id = host->first;
  state.watched.erase(host);
  for (auto& [key, child] : state.children) {
    if (!child.where || child.where->node.id != id) continue;
    if (child.want.adopts) continue;  // it is looked for again
    child.want.news->end(from_caf(down.reason).what, to_string(id));
    if (child.actor) self->send_exit(child.actor, caf::exit_reason::kill);
  }
}

caf::behavior run(Self* self, Node* node, std::shared_ptr<NodeDirectory> directory,
                  std::shared_ptr<std::unique_ptr<PlacementPolicy>> policy, EventSink emit) {
  keep_first_cause(*self);
  auto& state = self->state;
  state.node = node;
  state.directory = std::move(directory);
  state.policy = std::move(*policy);
  state.emit = std::move(emit);
  self->set_down_handler([=](caf::down_msg& down) { on_host_down(self, down); });
  state.directory->watch(self);
  self->delayed_send(self, try_again_every, TryAgain{});
  return {[=](Want& want) {
            const auto key = want.key;
            auto& child = self->state.children[key];
            child.want = std::move(want);
            child.life = key.second;
            place(self, child);
          },
          [=](const End& end) { on_end(self, end); },
          [=](HostsChanged) { place_those_that_wait(self); },
          [=](TryAgain) {
            place_those_that_wait(self);
            self->delayed_send(self, try_again_every, TryAgain{});
          },
          [=](const Msg<msg::LifeEnded>& news) { on_life_ended(self, *news.read()); }};
}

class RemoteLife final : public ChildLife {
 public:
  RemoteLife(caf::actor placer, Key key, std::shared_ptr<LifeNews> news)
      : placer_(std::move(placer)), key_(std::move(key)), news_(std::move(news)) {}
  ~RemoteLife() override { caf::anon_send(placer_, End{key_, true, true}); }

  void ask_to_stop() override { caf::anon_send(placer_, End{key_, false, false}); }
  bool end() override {
    caf::anon_send(placer_, End{key_, true, false});
    return false;
  }
  std::string post_mortem() override {
    std::unique_lock lock(news_->mutex);
    news_->told.wait_for(lock, news_time, [&] { return !news_->how.empty(); });
    if (news_->how.empty() || news_->where.empty() || !news_->lost_with.empty()) return news_->how;
    return news_->where + ": " + news_->how;
  }
  std::string lost_with() override {
    std::unique_lock lock(news_->mutex);
    news_->told.wait_for(lock, news_time, [&] { return !news_->how.empty(); });
    return news_->lost_with;
  }

 private:
  caf::actor placer_;
  Key key_;
  std::shared_ptr<LifeNews> news_;
};

class RemoteStarter final : public ChildStarter {
 public:
  RemoteStarter(std::shared_ptr<ProcessHost> keeps, caf::actor placer, HostedActor actor)
      : keeps_(std::move(keeps)),
        placer_(std::move(placer)),
        actor_(std::make_shared<const HostedActor>(std::move(actor))) {}

  std::unique_ptr<ChildLife> start(Report report, const Kept& kept) override {
    const bool adopts = lives_ == 0 && actor_->term > 1;
    // Later than all lives of former terms.
    const Key key{actor_->spawn.read()->getPath(), std::uint64_t{actor_->term} << 32 | ++lives_};
    auto news = std::make_shared<LifeNews>();
    caf::anon_send(placer_, Want{key, actor_, std::move(report), news, adopts, kept});
    return std::make_unique<RemoteLife>(placer_, key, std::move(news));
  }

 private:
  std::shared_ptr<ProcessHost> keeps_;
  caf::actor placer_;
  std::shared_ptr<const HostedActor> actor_;
  std::uint64_t lives_ = 0;
};

class ClusterHost final : public ProcessHost {
 public:
  ClusterHost(Node& node, std::shared_ptr<NodeDirectory> directory,
              std::unique_ptr<PlacementPolicy> policy, EventSink emit)
      : placer_(node.system().spawn(
            run, &node, std::move(directory),
            std::make_shared<std::unique_ptr<PlacementPolicy>>(std::move(policy)),
            std::move(emit))) {}
  ~ClusterHost() override { caf::anon_send_exit(placer_, caf::exit_reason::user_shutdown); }

  std::shared_ptr<ChildStarter> starter(HostedActor actor) override {
    return std::make_shared<RemoteStarter>(shared_from_this(), placer_, std::move(actor));
  }
  [[nodiscard]] bool on_this_machine() const override { return false; }

 private:
  caf::actor placer_;
};

}  // namespace

std::shared_ptr<ProcessHost> make_cluster_host(Node& node, std::shared_ptr<NodeDirectory> directory,
                                               std::unique_ptr<PlacementPolicy> policy,
                                               EventSink emit) {
  return std::make_shared<ClusterHost>(node, std::move(directory), std::move(policy),
                                       std::move(emit));
}

}  // namespace troupe
