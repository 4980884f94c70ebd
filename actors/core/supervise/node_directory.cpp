// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/node_directory.hpp"

#include "actors/core/node.hpp"
#include "actors/core/reason.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/core/supervise/host_messages.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace troupe {
namespace {

constexpr auto refresh_every = std::chrono::seconds(2);
constexpr auto query_time = std::chrono::seconds(5);
constexpr auto quiet_time = std::chrono::milliseconds(300);

struct Refresh {
  using actor_message = void;
};

/// What the actor finds out and everybody reads.
struct Known {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<NodeId, HostNode> hosts;
  std::set<Address> answered;             ///< who has been asked and has said what it is
  std::map<Address, std::string> failed;  ///< who could not be joined
  std::chrono::steady_clock::time_point last_news{};
  std::vector<caf::actor> watchers;
};

bool same(const PlacementNode& a, const PlacementNode& b) {
  return a.labels == b.labels && a.total == b.total && a.free == b.free && a.draining == b.draining;
}

/// Changes what is known, and says so.
template <class Change>
void change(Known& known, Change&& what) {
  std::vector<caf::actor> watchers;
  {
    const std::lock_guard lock(known.mutex);
    if (!what()) return;
    known.last_news = std::chrono::steady_clock::now();
    watchers = known.watchers;
  }
  known.changed.notify_all();
  for (const auto& watcher : watchers) caf::anon_send(watcher, HostsChanged{});
}

HostNode read_host(Node& node, const PeerInfo& peer, msg::HostInfo::Reader info) {
  HostNode host;
  host.node.id = peer.id;
  for (const auto label : info.getLabels()) host.node.labels.emplace_back(label);
  host.node.total = read_resources(info.getTotal());
  host.node.free = read_resources(info.getFree());
  host.node.draining = info.getDraining();
  host.host = node.resolve({peer.id, peer.control, info.getHost()});
  return host;
}

struct Asker {
  Node* node = nullptr;
  std::shared_ptr<Known> known;
  std::map<NodeId, PeerInfo> hosts;
};
using Self = caf::stateful_actor<Asker>;

void query(Self* self, const PeerInfo& peer) {
  auto known = self->state.known;
  auto* node = self->state.node;
  self->request(node->node_actor_of(peer), query_time,
                Msg<msg::HostQuery>::build([](msg::HostQuery::Builder) {}))
      .then(
          [=](const Msg<msg::HostInfo>& info) {
            self->state.hosts[peer.id] = peer;
            auto host = read_host(*node, peer, *info.read());
            change(*known, [&] {
              auto& entry = known->hosts[peer.id];
              const bool is_new = known->answered.insert(peer.control).second;
              const bool news = is_new || !entry.host || !same(entry.node, host.node);
              entry = std::move(host);
              return news;
            });
          },
          [=](caf::error&) {  // it is no host, or it is gone
            change(*known, [&] { return known->answered.insert(peer.control).second; });
          });
}

caf::behavior run(Self* self, Node* node, std::shared_ptr<Known> known) {
  keep_first_cause(*self);
  self->state.node = node;
  self->state.known = known;
  self->delayed_send(self, refresh_every, Refresh{});
  return {[=](const PeerUp& up) { query(self, up.peer); },
          [=](const PeerDown& down) {
            self->state.hosts.erase(down.peer);
            change(*known, [&] { return known->hosts.erase(down.peer) > 0; });
          },
          [=](const ConnectFailed& failed) {
            change(*known, [&] {
              known->failed[failed.to] = failed.why.what;
              return true;
            });
          },
          [=](Refresh) {
            for (const auto& [id, peer] : self->state.hosts) query(self, peer);
            self->delayed_send(self, refresh_every, Refresh{});
          }};
}

class Directory final : public PeerDirectory {
 public:
  explicit Directory(Node& node)
      : node_(node),
        known_(std::make_shared<Known>()),
        asker_(node.system().spawn(run, &node, known_)) {
    node.watch(asker_);
  }
  ~Directory() override {
    {
      const std::lock_guard lock(known_->mutex);
      known_->watchers.clear();
      known_->hosts.clear();
    }
    caf::anon_send_exit(asker_, caf::exit_reason::user_shutdown);
  }

  std::vector<HostNode> hosts() const override {
    const std::lock_guard lock(known_->mutex);
    std::vector<HostNode> all;
    for (const auto& [id, host] : known_->hosts) all.push_back(host);
    return all;
  }
  void watch(const caf::actor& watcher) override {
    const std::lock_guard lock(known_->mutex);
    known_->watchers.push_back(watcher);
  }

  Result<void> join(const std::vector<Address>& members, Millis limit) override {
    for (const auto& member : members) node_.connect(member);
    const auto until = std::chrono::steady_clock::now() + limit;
    std::unique_lock lock(known_->mutex);
    const auto answered = [&](const Address& member) {
      return known_->answered.contains(member) || known_->failed.contains(member);
    };
    while (std::chrono::steady_clock::now() < until) {
      const auto quiet = known_->last_news + quiet_time;
      const bool all = std::all_of(members.begin(), members.end(), answered);
      if (all && std::chrono::steady_clock::now() >= quiet) break;
      known_->changed.wait_until(lock, all ? std::min(quiet, until) : until);
    }
    std::string why;
    for (const auto& member : members) {
      if (known_->answered.contains(member)) return {};
      const auto failed = known_->failed.find(member);
      why += (why.empty() ? "cannot join " : "; cannot join ") + to_string(member) + ": " +
             (failed == known_->failed.end() ? "no answer" : failed->second);
    }
    return fail(ErrorCode::unavailable, why);
  }

 private:
  Node& node_;
  std::shared_ptr<Known> known_;
  caf::actor asker_;
};

}  // namespace

std::shared_ptr<PeerDirectory> PeerDirectory::make(Node& node) {
  return std::make_shared<Directory>(node);
}

}  // namespace troupe
