// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/cluster/client.hpp"

#include "actors/control/operate/control_actor.hpp"
#include "actors/control/operate/local_socket.hpp"
#include "actors/core/node_actor.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/ucx_worker.hpp"
#include "apps/troupe/host/secrets.hpp"
#include "messages/reflect.hpp"

#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace troupe {
namespace {

constexpr auto join_time = std::chrono::seconds(6);  // a handshake has 5

/// What it takes to join.
struct Door {
  Address control;
  ClusterSecret secret;
  bool encrypt = false;
};

std::string list_of(const std::vector<LocalNode>& nodes) {
  std::string text;
  for (const auto& node : nodes) {
    text += fmt::format("{}{} (process {})", text.empty() ? "" : ", ", node.name, node.pid);
  }
  return text;
}

Failure nobody(const LocalNodes& found) {
  if (!found.silent.empty()) {
    return fail(ErrorCode::timeout,
                fmt::format("the node of process {} does not answer; is it stopped?",
                            fmt::join(found.silent, ", ")));
  }
  return fail(ErrorCode::not_found,
              "no node of this user runs on this machine; start a job with 'troupe run GRAPH' or a "
              "node with 'troupe node', or name one with --connect HOST:PORT --secret-file FILE");
}

Result<LocalNode> pick(const LocalNodes& found, const std::string& wanted) {
  std::vector<LocalNode> fitting;
  std::vector<std::string> names;
  for (const auto& node : found.nodes) {
    names.push_back(node.name);
    if (wanted.empty() || node.name == wanted || std::to_string(node.pid) == wanted) {
      fitting.push_back(node);
    }
  }
  if (fitting.size() == 1) return fitting.front();
  if (found.nodes.empty()) return nobody(found);
  if (fitting.empty()) {
    return fail(ErrorCode::not_found, "no node '" + wanted + "' of this user runs here" +
                                          did_you_mean(wanted, names) +
                                          (found.silent.empty() ? "" : "; one does not answer"));
  }
  return fail(ErrorCode::invalid_argument,
              "several nodes run here: " + list_of(fitting) +
                  (wanted.empty() ? "; say which one to ask with --node NAME"
                                  : "; say which one to ask with --node PROCESS"));
}

Result<Door> find_door(const ClusterOptions& options) {
  if (options.connect) {
    auto secret = find_secret(options.secret_file, *options.connect);
    if (!secret) return Failure(secret.error());
    return Door{*options.connect, std::move(*secret), options.encrypt};
  }
  auto found = find_local_nodes(socket_folder());
  if (!found) return Failure(found.error());
  const auto node = pick(*found, options.node);
  if (!node) return Failure(node.error());
  auto secret = ClusterSecret::from_text(node->secret);
  if (!secret) return Failure(secret.error());
  return Door{node->control, std::move(*secret), node->encrypt};
}

}  // namespace

Result<std::unique_ptr<ClusterClient>> ClusterClient::open(const ClusterOptions& options) {
  auto door = find_door(options);
  if (!door) return Failure(door.error());
  std::unique_ptr<ClusterClient> client(new ClusterClient);
  register_node_messages(client->kinds_);
  register_control_messages(client->kinds_);
  UcxWorker::set_environment(is_loopback(door->control));
  NodeOptions node;
  node.name = "client." + std::to_string(::getpid());
  node.secret = std::move(door->secret);
  node.encrypt = door->encrypt;
  node.role = NodeRole::client;
  auto started = Node::start(std::move(node), client->kinds_);
  if (!started) return Failure(started.error());
  client->node_ = std::move(*started);
  if (auto joined = client->join(door->control); !joined) return Failure(joined.error());
  if (auto found = client->find_control(); !found) return Failure(found.error());
  return client;
}

ClusterClient::~ClusterClient() { control_ = nullptr; }

Result<void> ClusterClient::join(const Address& to) {
  auto outcome = std::make_shared<std::promise<Result<PeerInfo>>>();
  const auto watcher =
      node_->system().spawn([outcome](caf::event_based_actor* self) -> caf::behavior {
        return {[=](const PeerUp& up) {
                  outcome->set_value(up.peer);
                  self->quit();
                },
                [=](const ConnectFailed& failed) {
                  outcome->set_value(Failure(failed.why));
                  self->quit();
                },
                [](const PeerDown&) {}};
      });
  node_->watch(watcher);
  node_->connect(to);
  auto known = outcome->get_future();
  if (known.wait_for(join_time) != std::future_status::ready) {
    caf::anon_send_exit(watcher, caf::exit_reason::kill);
    return fail(ErrorCode::timeout, to_string(to) + ": no answer");
  }
  auto peer = known.get();
  if (!peer) return fail_at("cannot join " + to_string(to), peer.error());
  entry_ = std::move(*peer);
  return {};
}

Result<void> ClusterClient::find_control() {
  control_ = node_->node_actor_of(entry_);
  auto found = ask<msg::FoundService>(
      Msg<msg::FindService>::build([](auto b) { b.setName(control_service); }));
  if (!found) return fail_at(entry_.id.name, found.error());
  control_ = node_->resolve({entry_.id, entry_.control, found->read()->getActor()});
  return {};
}

}  // namespace troupe
