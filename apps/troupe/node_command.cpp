// SPDX-License-Identifier: Apache-2.0
//
// `troupe node`: this process is a member of a cluster until it is told to stop. A node that others
// have declared dead ends its actors and goes on as a new incarnation, in the same process. The
// same command, with --launched, is what a host starts for every engine process: that one ends when
// its host is gone.
#include "actors/base/log.hpp"
#include "actors/core/membership/membership.hpp"
#include "actors/core/membership/membership_wire.hpp"
#include "actors/core/node.hpp"
#include "actors/core/remote/remote_actors.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/ucx_worker.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/end_limit.hpp"
#include "apps/troupe/host/joining.hpp"
#include "apps/troupe/host/launches.hpp"
#include "apps/troupe/host/lifeline.hpp"
#include "apps/troupe/host/offer.hpp"
#include "apps/troupe/host/operating.hpp"
#include "apps/troupe/host/secrets.hpp"
#include "apps/troupe/host/signals.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <variant>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto stop_limit = std::chrono::seconds(4);

using News = std::variant<PeerUp, PeerDown, ConnectFailed, MemberChanged, IncarnationOver>;

caf::actor spawn_watcher(Node& node, Inbox<News>& inbox) {
  return node.system().spawn([&inbox](caf::event_based_actor*) -> caf::behavior {
    return {[&inbox](const PeerUp& up) { inbox.put(up); },
            [&inbox](const PeerDown& down) { inbox.put(down); },
            [&inbox](const ConnectFailed& failed) { inbox.put(failed); },
            [&inbox](const MemberChanged& changed) { inbox.put(changed); },
            [&inbox](const IncarnationOver& over) { inbox.put(over); }};
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
  node.role = options.launched ? NodeRole::worker : options.role;
  if (!options.launched) {
    node.offer = make_offer(options.labels, options.cpus, options.memory, doctor::look_at_host());
    if (auto good = check_offer(node.offer); !good) return Failure(good.error());
  }
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

/// Why a process or one incarnation of its node ends.
struct End {
  int status = 0;
  bool again = false;  ///< as a new incarnation
};

/// One incarnation: what happens to it, until it is time to stop.
class Incarnation {
 public:
  Incarnation(Node& node, Joining joining, Lifeline lifeline, Readiness& readiness)
      : node_(node),
        joining_(std::move(joining)),
        lifeline_(std::move(lifeline)),
        readiness_(readiness) {}

  End follow(Inbox<News>& inbox, const Signals& signals);

 private:
  std::optional<End> on(const PeerUp& up);
  std::optional<End> on(const PeerDown& down);
  std::optional<End> on(const ConnectFailed& failed);
  std::optional<End> on(const MemberChanged& changed);
  std::optional<End> on(const IncarnationOver& over);
  void call();

  Node& node_;
  Joining joining_;
  Lifeline lifeline_;
  Readiness& readiness_;
  std::optional<Clock::time_point> call_at_ = Clock::now();
  std::set<NodeId> others_;                              ///< peers that are no members
  std::map<NodeId, std::pair<MemberState, bool>> said_;  ///< of members, and whether confirmed
};

End Incarnation::follow(Inbox<News>& inbox, const Signals& signals) {
  while (true) {
    call();
    auto wait = Millis(1000);
    if (call_at_) {
      wait = std::min(wait, std::chrono::ceil<Millis>(*call_at_ - Clock::now()));
    }
    if (signals.wait(inbox.wake(), std::max(wait, Millis(0)))) return {};
    for (const auto& news : inbox.take()) {
      if (auto end = std::visit([this](const auto& one) { return on(one); }, news)) return *end;
    }
  }
}

void Incarnation::call() {
  if (!call_at_ || Clock::now() < *call_at_) return;
  call_at_.reset();
  for (const auto& to : joining_.to()) node_.connect(to);
}

std::optional<End> Incarnation::on(const PeerUp& up) {
  joining_.on(up);
  lifeline_.on(up);
  readiness_.up(up.peer.control);
  if (is_member(up.peer.role)) return std::nullopt;  // the membership tells of it
  others_.insert(up.peer.id);
  log_info("{} {} at {} is up", to_string(up.peer.role), to_string(up.peer.id),
           to_string(up.peer.control));
  return std::nullopt;
}

std::optional<End> Incarnation::on(const PeerDown& down) {
  if (others_.erase(down.peer) > 0) {
    log_info("{} is down: {}", to_string(down.peer), down.why.what);
  }
  if (auto reason = lifeline_.on(down)) return End{complain(*reason)};
  return std::nullopt;
}

std::optional<End> Incarnation::on(const ConnectFailed& failed) {
  const auto next = joining_.on(failed);
  if (next.give_up) return End{complain(*next.give_up)};
  if (next.again) {
    call_at_ = Clock::now() + *next.again;
    log_info("cannot reach {}: {}; trying again", to_string(failed.to), failed.why.what);
  }
  return std::nullopt;
}

std::optional<End> Incarnation::on(const MemberChanged& changed) {
  const auto& member = changed.member;
  const auto [said, first] = said_.try_emplace(member.id, member.state, member.confirmed);
  const std::pair now(member.state, member.confirmed);
  if (member.id == node_.self().id || (!first && said->second == now)) return std::nullopt;
  said->second = now;
  const auto why = member.why.empty() ? "" : ": " + member.why;
  if (member.state == MemberState::alive) {
    log_info("{} {} at {} is up", to_string(member.role), to_string(member.id),
             to_string(member.control));
  } else if (member.state == MemberState::left) {
    log_info("{} has left{}", to_string(member.id), why);
  } else {
    log_info("{} is {}{}", to_string(member.id), to_string(member.state), why);
  }
  return std::nullopt;
}

std::optional<End> Incarnation::on(const IncarnationOver& over) {
  if (over.why.code == ErrorCode::aborted) return End{0, true};
  return End{complain(over.why.what)};
}

/// Where the members listen that may still live.
std::vector<Address> addresses_of(const std::vector<Member>& members, const Address& own) {
  std::vector<Address> all;
  for (const auto& member : members) {
    const bool gone = member.confirmed || member.control == own;
    if (!gone && all.size() < 16) all.push_back(member.control);
  }
  return all;
}

struct Life {
  End end;
  Address at;                  ///< where it listened
  std::vector<Address> known;  ///< where members listen that may still live
};

/// One incarnation with all that belongs to it.
class Living {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Living>> start(const NodeOptions& asked,
                                                             const NodeCommandOptions& options,
                                                             const ActorKinds& kinds);
  /// Says goodbye and ends all actors, in time.
  ~Living();

  void announce() const;
  [[nodiscard]] Life live(const Signals& signals, Joining joining, Lifeline lifeline);

 private:
  explicit Living(const std::optional<Address>& join) : readiness_(join) {}

  Readiness readiness_;
  Inbox<News> inbox_;
  std::unique_ptr<Node> node_;
  std::unique_ptr<Operations> operations_;
  std::unique_ptr<LaunchesForOthers> host_;
  caf::actor watcher_;
};

Result<std::unique_ptr<Living>> Living::start(const NodeOptions& asked,
                                              const NodeCommandOptions& options,
                                              const ActorKinds& kinds) {
  std::unique_ptr<Living> made(new Living(options.join));
  const auto secret = asked.secret.text();
  auto node = Node::start(asked, kinds);
  if (!node) return Failure(node.error());
  made->node_ = std::move(*node);
  auto operations = operate_node(*made->node_, secret, options, made->readiness_);
  if (!operations) return Failure(operations.error());
  made->operations_ = std::move(*operations);
  made->watcher_ = spawn_watcher(*made->node_, made->inbox_);
  made->node_->watch(made->watcher_);
  made->node_->membership().watch(made->watcher_);
  if (options.launched) return made;
  auto host = LaunchesForOthers::start(*made->node_, asked.offer, options, secret);
  if (!host) return Failure(host.error());
  made->host_ = std::move(*host);
  return made;
}

Living::~Living() {
  if (!node_) return;
  const EndLimit limit(stop_limit, "actors did not end");
  node_->membership().leave();
  operations_.reset();
  caf::anon_send_exit(watcher_, caf::exit_reason::user_shutdown);
  watcher_ = nullptr;
  host_.reset();
  node_.reset();
}

void Living::announce() const {
  const auto& self = node_->self();
  std::printf("node %s listens on %s\n", self.id.name.c_str(), to_string(self.control).c_str());
  if (const auto http = operations_->http()) {
    std::printf("metrics at http://%s/metrics\n", to_string(*http).c_str());
  }
  std::fflush(stdout);
}

Life Living::live(const Signals& signals, Joining joining, Lifeline lifeline) {
  Life life;
  life.end = Incarnation(*node_, std::move(joining), std::move(lifeline), readiness_)
                 .follow(inbox_, signals);
  life.at = node_->self().control;
  life.known = addresses_of(node_->membership().members(), life.at);
  return life;
}

}  // namespace

int run_node(const NodeCommandOptions& options, const ActorKinds& kinds) {
  const Signals signals;
  auto asked = node_options(options);
  if (!asked) return complain(asked.error().what);
  start_log(asked->name, LogLevel::info);
  const bool local = is_loopback(asked->listen) && (!options.join || is_loopback(*options.join));
  UcxWorker::set_environment(local);
  std::vector<Address> to;
  if (options.join) to.push_back(*options.join);
  std::optional<unsigned> tries = options.launched ? 1 : Joining::usual_tries;
  if (options.join_retry) tries.reset();
  asked->joins = !to.empty();
  for (bool first = true;; first = false) {
    auto living = Living::start(*asked, options, kinds);
    if (!living) return complain(living.error().what);
    if (first && !options.launched) (*living)->announce();
    const auto life = (*living)->live(signals, Joining(first ? to : std::vector<Address>{}, tries),
                                      Lifeline(options.join, options.launched));
    living->reset();
    if (!life.end.again) return life.end.status;
    log_warn("going on as a new incarnation");
    asked->listen.port = life.at.port;
    asked->seeds = life.known;
    asked->seeds.insert(asked->seeds.end(), to.begin(), to.end());
  }
}

}  // namespace troupe
