// SPDX-License-Identifier: Apache-2.0
//
// `troupe node`: this process is a member of a cluster until it is told to stop. The same command,
// with
// --launched, is what a host starts for every engine process: that one ends when its host is gone.
#include "actors/base/log.hpp"
#include "actors/core/node.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/ucx_worker.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/launches.hpp"
#include "apps/troupe/host/lifeline.hpp"
#include "apps/troupe/host/secrets.hpp"
#include "apps/troupe/host/signals.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace troupe {
namespace {

constexpr auto stop_limit = std::chrono::seconds(4);

struct News {
  std::optional<PeerUp> up;
  std::optional<PeerDown> down;
  std::optional<ConnectFailed> failed;
};

caf::actor spawn_watcher(Node& node, Inbox<News>& inbox) {
  return node.system().spawn([&inbox](caf::event_based_actor*) -> caf::behavior {
    return {[&inbox](const PeerUp& up) {
              inbox.put({up, {}, {}});
            },
            [&inbox](const PeerDown& down) {
              inbox.put({{}, down, {}});
            },
            [&inbox](const ConnectFailed& failed) {
              inbox.put({{}, {}, failed});
            }};
  });
}

int complain(const std::string& what) {
  std::fprintf(stderr, "%s node: %s\n", program_invocation_short_name, what.c_str());
  return 1;
}

std::string default_name() {
  char host[128] = "node";
  ::gethostname(host, sizeof host - 1);
  return host;
}

Result<NodeOptions> node_options(const NodeCommandOptions& options) {
  NodeOptions node;
  node.name = options.name.empty() ? default_name() : options.name;
  if (options.listen) node.listen = *options.listen;
  node.encrypt = options.encrypt;
  node.scheduler = options.scheduler;
  auto secret = options.secret_fd ? ClusterSecret::from_fd(*options.secret_fd)
                                  : find_secret(options.secret_file, node.listen);
  if (!secret) return Failure(secret.error());
  node.secret = std::move(*secret);
  if (const char* fd = std::getenv("TROUPE_STATE_FD"); options.launched && fd != nullptr) {
    node.state_fd = std::atoi(fd);
  }
  return node;
}

/// Says what happens until it is time to stop; gives the exit status, and the signal if one came.
int follow(const NodeCommandOptions& options, Inbox<News>& inbox, const Signals& signals) {
  Lifeline lifeline(options.join, options.launched);
  while (true) {
    if (signals.wait(inbox.wake(), Millis(1000))) return 0;
    for (const auto& news : inbox.take()) {
      std::optional<std::string> reason;
      if (news.failed) {
        log_info("cannot reach {}: {}", to_string(news.failed->to), news.failed->why.what);
        reason = lifeline.on(*news.failed);
      }
      if (news.up) {
        log_info("{} at {} is up", to_string(news.up->peer.id), to_string(news.up->peer.control));
        lifeline.on(*news.up);
      }
      if (news.down) {
        log_info("{} is down: {}", to_string(news.down->peer), news.down->why.what);
        reason = lifeline.on(*news.down);
      }
      if (reason) return complain(*reason);
    }
  }
}

/// Actors get some time to end; a process that hangs helps nobody.
void end_within(std::chrono::seconds limit) {
  std::thread([limit] {
    std::this_thread::sleep_for(limit);
    std::fprintf(stderr, "%s node: actors did not end within %lld s\n",
                 program_invocation_short_name, static_cast<long long>(limit.count()));
    std::_Exit(1);
  }).detach();
}

}  // namespace

int run_node(const NodeCommandOptions& options, const ActorKinds& kinds) {
  const Signals signals;
  auto asked = node_options(options);
  if (!asked) return complain(asked.error().what);
  start_log(asked->name, LogLevel::info);
  const bool local = is_loopback(asked->listen) && (!options.join || is_loopback(*options.join));
  UcxWorker::set_environment(local);
  const auto secret = asked->secret.text();
  auto node = Node::start(std::move(*asked), kinds);
  if (!node) return complain(node.error().what);
  Inbox<News> inbox;
  auto watcher = spawn_watcher(**node, inbox);
  (*node)->watch(watcher);
  const auto& self = (*node)->self();
  std::unique_ptr<LaunchesForOthers> host;
  if (!options.launched) {
    auto made = LaunchesForOthers::start(**node, options, secret);
    if (!made) return complain(made.error().what);
    host = std::move(*made);
  }
  if (!options.launched) {
    std::printf("node %s listens on %s\n", self.id.name.c_str(), to_string(self.control).c_str());
    std::fflush(stdout);
  }
  if (options.join) (*node)->connect(*options.join);
  const int status = follow(options, inbox, signals);
  end_within(stop_limit);
  caf::anon_send_exit(watcher, caf::exit_reason::user_shutdown);
  watcher = nullptr;
  host.reset();
  node->reset();
  return status;
}

}  // namespace troupe
