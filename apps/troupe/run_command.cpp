// SPDX-License-Identifier: Apache-2.0
//
// `troupe run`: this process is the host node. It starts the application's actors, each in a
// process of its own, prints what they report, and ends when the application has ended.
#include "actors/base/atomic_file.hpp"
#include "actors/base/log.hpp"
#include "actors/control/application.hpp"
#include "actors/control/graph_load.hpp"
#include "actors/core/node.hpp"
#include "actors/net/loopback_transport.hpp"
#include "actors/net/ucx_worker.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/offer.hpp"
#include "apps/troupe/host/programs.hpp"
#include "apps/troupe/host/report.hpp"
#include "apps/troupe/host/run_directory.hpp"
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
  if (options.json) words.insert(words.end(), {"-o", "json"});
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
  if (!options.in_process) return check_programs(graph, kinds);
  const char* stands_for = std::getenv(stands_for_variable);
  auto host = other_host(graph, kinds, stands_for == nullptr ? "" : stands_for);
  if (!host) return Failure(host.error());
  if (*host) return Failure(become_host(options, **host));
  return {};
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

int run_graph(const RunOptions& options, const ActorKinds& kinds, msg::AppGraph::Reader graph,
              const std::filesystem::path& run_dir) {
  auto data = LineFile::take_stdout();
  const Signals signals;
  Reporter reporter({graph.getApp().getName(), led_groups(graph, kinds), options.json, run_dir},
                    std::move(data));
  UcxWorker::set_environment(true);
  Inbox<News> inbox;
  LoopbackHub hub;
  NodeOptions node_options;
  node_options.name = std::string(graph.getApp().getName()) + ".host";
  node_options.role = NodeRole::control;
  node_options.offer = make_offer({}, {}, {}, doctor::look_at_host());
  if (options.in_process) node_options.hub = &hub;
  const auto secret = node_options.secret.text();
  auto node = Node::start(std::move(node_options), kinds);
  if (!node) return complain(node.error());

  ApplicationOptions application;
  application.run_dir = run_dir;
  application.faults = options.kill_one_at;
  application.emit = [&](Event event) { inbox.put({std::move(event), {}}); };
  if (!options.in_process) application.host = ProcessHost::make(**node, secret);
  application.find_program = find_program;
  application.ended = [&](Result<void> result) { inbox.put({{}, std::move(result)}); };
  auto started = start_application(**node, graph, std::move(application));
  if (!started) return complain(started.error());

  const auto outcome = follow(inbox, signals, *started, reporter);
  *started = nullptr;
  node->reset();
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

}  // namespace

int run_command(const RunOptions& options, const ActorKinds& kinds) {
  const auto loaded = load_graph(options.graph, options.sets, kinds);
  if (!loaded) return complain(loaded.error());
  const auto graph = loaded->graph();
  if (auto prepared = prepare(options, kinds, graph); !prepared) return complain(prepared.error());
  const std::string job = graph.getApp().getName();
  start_log(job + ".host", LogLevel::warn);
  const auto run_dir = make_run_directory(job);
  if (!run_dir) return complain(run_dir.error());
  if (auto kept = write_file_atomically(*run_dir / "graph.toml", loaded->resolved()); !kept) {
    return complain(kept.error());
  }
  std::fprintf(stderr, "%s: run directory %s\n", job.c_str(), run_dir->c_str());
  return run_graph(options, kinds, graph, *run_dir);
}

}  // namespace troupe
