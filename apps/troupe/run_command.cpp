// SPDX-License-Identifier: Apache-2.0
//
// `troupe run`: this process is the host node. It starts the application's actors, each in a
// process of its own, prints what they report, and ends when the application has ended.
#include "actors/base/atomic_file.hpp"
#include "actors/base/log.hpp"
#include "actors/control/application.hpp"
#include "actors/control/graph_load.hpp"
#include "actors/core/node.hpp"
#include "actors/core/supervise/node_directory.hpp"
#include "actors/core/supervise/placement.hpp"
#include "actors/core/supervise/remote_starter.hpp"
#include "actors/net/control_connection.hpp"
#include "actors/net/loopback_transport.hpp"
#include "actors/net/ucx_worker.hpp"
#include "apps/troupe/checkpoint/places.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/machine.hpp"
#include "apps/troupe/host/offer.hpp"
#include "apps/troupe/host/operating.hpp"
#include "apps/troupe/host/programs.hpp"
#include "apps/troupe/host/report.hpp"
#include "apps/troupe/host/run_directory.hpp"
#include "apps/troupe/host/secrets.hpp"
#include "apps/troupe/host/signals.hpp"
#include "apps/troupe/host/streams.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace troupe {
namespace {

constexpr Millis join_time(15000);

/// Either something happened, or the application has ended.
struct News {
  Event event;
  std::optional<Result<void>> ended;
};

int complain(const Error& error) {
  std::fprintf(stderr, "%s run: %s\n", program_invocation_short_name, error.what.c_str());
  return 1;
}

constexpr const char* stands_for_variable = "TROUPE_IN_PROCESS_HOST";

/// In one process means in one that hosts the kinds: become that one.
Error become_host(const RunOptions& options, const std::string& path) {
  std::vector<std::string> words = {program_invocation_short_name, "run", options.graph,
                                    "--in-process"};
  for (const auto& set : options.sets) words.insert(words.end(), {"--set", set});
  for (const auto& fault : options.kill_one_at) words.insert(words.end(), {"--kill-one-at", fault});
  if (!options.resume.empty()) words.insert(words.end(), {"--resume", options.resume});
  if (options.json) words.insert(words.end(), {"-o", "json"});
  if (options.http) words.insert(words.end(), {"--http", to_string(*options.http)});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // One thread for torch, as in every engine process.
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  // A script that starts the real program is as good as that program, and must not be run again.
  ::setenv(stands_for_variable, path.c_str(), 1);
  ::execv(path.c_str(), arguments.data());
  return {ErrorCode::unavailable, path + ": " + errno_text(errno)};
}

/// The addresses of the groups that have a leader.
std::vector<std::string> led_groups(msg::AppGraph::Reader graph, const ActorKinds& kinds) {
  std::vector<std::string> paths;
  for (const auto actor : graph.getActor()) {
    const auto* kind = kinds.find(actor.getKind());
    if (kind == nullptr || !kind->lead) continue;
    paths.push_back("/jobs/" + std::string(graph.getApp().getName()) + "/" +
                    std::string(actor.getPath()));
  }
  return paths;
}

/// A cluster's hosts look for programs themselves.
Result<void> check_names(msg::AppGraph::Reader graph) {
  for (const auto actor : graph.getActor()) {
    const std::string binary = actor.getBinary();
    if (binary.find('/') == std::string::npos) continue;
    return fail(ErrorCode::invalid_argument,
                std::string(actor.getPath()) +
                    ": on a cluster, 'binary' is a name that each host " +
                    "looks for beside its own troupe, not the path " + binary);
  }
  return {};
}

/// What can be said before anything is started; may become another program.
Result<void> prepare(const RunOptions& options, const ActorKinds& kinds,
                     msg::AppGraph::Reader graph) {
  const auto groups = led_groups(graph, kinds);
  if (groups.size() > 1 && !options.kill_one_at.empty()) {
    return fail(ErrorCode::invalid_argument,
                "--kill-one-at needs a graph of one group; this one has " +
                    std::to_string(groups.size()) + ": " +
                    fmt::format("{}", fmt::join(groups, ", ")));
  }
  if (!options.cluster.empty()) return check_names(graph);
  if (!options.in_process) return check_programs(graph, kinds);
  const char* stands_for = std::getenv(stands_for_variable);
  auto host = other_host(graph, kinds, stands_for == nullptr ? "" : stands_for);
  if (!host) return Failure(host.error());
  if (*host) return Failure(become_host(options, **host));
  return {};
}

/// Where the checkpoints are that are to be gone on from; empty: nothing is.
Result<std::filesystem::path> find_resume(const RunOptions& options, const ActorKinds& kinds) {
  if (options.resume.empty()) return std::filesystem::path();
  auto place = find_place(options.resume);
  auto root = place ? checkpoints_of(*place, kinds) : place;
  if (!root) return fail_at("--resume", root.error());
  return root;
}

/// Waits for the application's end; a signal asks it to end. Gives the signal.
struct Outcome {
  Result<void> result;
  std::optional<int> signal;
};
Outcome follow(Inbox<News>& inbox, const Signals& signals, const caf::actor& application,
               Reporter& reporter) {
  std::optional<int> stopped;
  while (true) {
    if (const auto signal = signals.wait(inbox.wake(), Millis(1000))) {
      if (stopped) Signals::die_of(*signal);  // asked twice: engine processes end when they miss us
      stopped = signal;
      std::fprintf(stderr, "\nstopping; once more to stop at once\n");
      caf::anon_send_exit(application, caf::exit_reason::user_shutdown);
    }
    for (auto& news : inbox.take()) {
      if (news.ended) return {*news.ended, stopped};
      reporter.report(std::move(news.event));
    }
  }
}

int report_outcome(const Outcome& outcome, Reporter& reporter) {
  if (outcome.signal) Signals::die_of(*outcome.signal);
  if (outcome.result) {
    reporter.finish();
  } else {
    reporter.report({"failed", {{"error", outcome.result.error().what}}});
    complain(outcome.result.error());
  }
  if (!reporter.status()) complain(reporter.status().error());
  return outcome.result && reporter.status() ? 0 : 1;
}

Result<NodeOptions> node_options(const RunOptions& options, const std::string& job,
                                 LoopbackHub& hub) {
  NodeOptions node;
  node.name = job + ".host";
  node.role = NodeRole::control;
  node.offer = make_offer({}, {}, {}, doctor::look_at_host());
  if (options.in_process) node.hub = &hub;
  if (options.cluster.empty()) return node;
  // Two runs of one job may be members of one cluster.
  node.name = member_node_name(job, "host", static_cast<std::uint32_t>(::getpid()));
  auto own = own_address_towards(options.cluster.front());
  if (!own) return Failure(own.error());
  node.listen.host = *own;
  auto secret = find_secret(options.secret_file, node.listen);
  if (!secret) return Failure(secret.error());
  node.secret = std::move(*secret);
  node.encrypt = options.encrypt;
  return node;
}

/// Where the members of groups live: in this process (nobody), in processes of this machine, or on
/// the hosts of a cluster, which is joined here.
Result<std::shared_ptr<ProcessHost>> find_host(const RunOptions& options, Node& node,
                                               const std::string& secret, const EventSink& emit) {
  if (options.in_process) return std::shared_ptr<ProcessHost>();
  if (options.cluster.empty()) return ProcessHost::make(node, secret);
  auto directory = PeerDirectory::make(node);
  if (auto joined = directory->join(options.cluster, join_time); !joined) {
    return Failure(joined.error());
  }
  return make_cluster_host(node, std::move(directory), make_spreading_policy(), emit);
}

/// A program's path here; on a cluster each host finds it by its name.
std::function<Result<std::string>(const std::string&)> program_finder(const RunOptions& options) {
  if (options.cluster.empty()) return find_program;
  return [](const std::string& name) -> Result<std::string> { return name; };
}

int run_graph(const RunOptions& options, const ActorKinds& kinds, msg::AppGraph::Reader graph,
              const std::filesystem::path& run_dir, std::filesystem::path resume) {
  auto data = LineFile::take_stdout();
  const Signals signals;
  Reporter reporter({graph.getApp().getName(), led_groups(graph, kinds), options.json, run_dir},
                    std::move(data));
  Inbox<News> inbox;
  LoopbackHub hub;
  auto asked = node_options(options, graph.getApp().getName(), hub);
  if (!asked) return complain(asked.error());
  UcxWorker::set_environment(is_loopback(asked->listen));
  const auto secret = asked->secret.text();
  auto node = Node::start(std::move(*asked), kinds);
  if (!node) return complain(node.error());
  const auto table = std::make_shared<LiveTable>();
  auto operations = operate_job(**node, table, secret, options, run_dir);
  if (!operations) return complain(operations.error());
  if (const auto http = (*operations)->http()) {
    std::fprintf(stderr, "metrics at http://%s/metrics\n", to_string(*http).c_str());
  }

  ApplicationOptions application;
  application.observer = table;
  application.run_dir = run_dir;
  application.resume = std::move(resume);
  application.faults = options.kill_one_at;
  application.emit = [&, table](Event event) {
    table->on_event(event);
    inbox.put({std::move(event), {}});
  };
  auto host = find_host(options, **node, secret, application.emit);
  if (!host) return complain(host.error());
  application.host = std::move(*host);
  application.find_program = program_finder(options);
  application.ended = [&](Result<void> result) { inbox.put({{}, std::move(result)}); };
  auto started = start_application(**node, graph, std::move(application));
  if (!started) return complain(started.error());

  const auto outcome = follow(inbox, signals, *started, reporter);
  *started = nullptr;
  operations->reset();
  node->reset();
  return report_outcome(outcome, reporter);
}

}  // namespace

int run_command(const RunOptions& options, const ActorKinds& kinds) {
  const auto loaded = load_graph(options.graph, options.sets, kinds);
  if (!loaded) return complain(loaded.error());
  const auto graph = loaded->graph();
  if (auto prepared = prepare(options, kinds, graph); !prepared) return complain(prepared.error());
  auto resume = find_resume(options, kinds);
  if (!resume) return complain(resume.error());
  const std::string job = graph.getApp().getName();
  start_log(job + ".host", LogLevel::warn);
  const auto run_dir = make_run_directory(job);
  if (!run_dir) return complain(run_dir.error());
  keep_actor_logs(job, *run_dir / "logs");
  if (auto kept = write_file_atomically(*run_dir / "graph.toml", loaded->resolved()); !kept) {
    return complain(kept.error());
  }
  std::fprintf(stderr, "%s: run directory %s\n", job.c_str(), run_dir->c_str());
  return run_graph(options, kinds, graph, *run_dir, std::move(*resume));
}

}  // namespace troupe
