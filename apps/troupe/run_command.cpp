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
#include "apps/troupe/host/programs.hpp"
#include "apps/troupe/host/progress.hpp"
#include "apps/troupe/host/run_directory.hpp"
#include "apps/troupe/host/signals.hpp"
#include "apps/troupe/json.hpp"

#include <caf/exit_reason.hpp>
#include <caf/send.hpp>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace troupe {
namespace {

using Clock = std::chrono::steady_clock;

/// Either something happened, or the application has ended.
struct News {
  Event event;
  std::optional<Result<void>> ended;
};

int complain(const Error& error) {
  std::fprintf(stderr, "troupe run: %s\n", error.what.c_str());
  return 1;
}

/// In one process means in one that hosts the kinds: become that one.
Result<void> become_host(const RunOptions& options, const std::string& program) {
  auto path = find_program(program);
  if (!path) return Failure(path.error());
  std::vector<std::string> words = {*path, "run", options.graph, "--in-process"};
  for (const auto& set : options.sets) words.insert(words.end(), {"--set", set});
  for (const auto& fault : options.kill_one_at) words.insert(words.end(), {"--kill-one-at", fault});
  if (options.json) words.insert(words.end(), {"-o", "json"});
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // One thread for torch, as in every engine process.
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  ::execv(path->c_str(), arguments.data());
  return fail(ErrorCode::unavailable, *path + ": " + errno_text(errno));
}

/// The program that must host this graph in one process, if it is not this one.
std::optional<std::string> other_host(msg::AppGraph::Reader graph, const ActorKinds& kinds) {
  for (const auto actor : graph.getActor()) {
    const auto* kind = kinds.find(actor.getKind());
    if (actor.hasBinary() || (kind != nullptr && !kind->spawn)) {
      return actor.hasBinary() ? std::string(actor.getBinary()) : kind->program;
    }
  }
  return std::nullopt;
}

/// The one way to stdout. Libraries that print to it (UCX warns there) find stderr in its place.
std::FILE* take_stdout() {
  std::FILE* data = ::fdopen(::dup(STDOUT_FILENO), "w");
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return data;
}

/// Shows a run: lines for people on stderr, JSON or a result on stdout, everything in events.jsonl.
class Reporter {
 public:
  Reporter(std::string job, bool json, std::FILE* data, const std::filesystem::path& run_dir)
      : job_(std::move(job)),
        json_(json),
        data_(data),
        progress_(job_, ::isatty(STDERR_FILENO) != 0, start_),
        file_(run_dir / "events.jsonl") {}

  void report(Event event) {
    const auto now = Clock::now();
    if (event.name == "done") {
      event.fields.insert(event.fields.begin(), {"job", job_});
      event.fields.emplace_back("wall_s", std::chrono::duration<double>(now - start_).count());
    }
    const auto text = to_text(event);
    file_ << text << "\n" << std::flush;
    if (json_) {
      std::fprintf(data_, "%s\n", text.c_str());
    } else if (const auto words = progress_.on_event(event, now); !words.empty()) {
      std::fputs(words.c_str(), stderr);
    }
    if (!json_ && event.name == "done") {
      std::fprintf(data_, "%s: test accuracy %.2f %%, parameters %s\n", job_.c_str(),
                   100 * number_field(event, "test_accuracy").value_or(0),
                   text_field(event, "params_sha256").c_str());
    }
    std::fflush(data_);
  }

 private:
  std::string job_;
  bool json_;
  std::FILE* data_;
  Clock::time_point start_ = Clock::now();
  Progress progress_;
  std::ofstream file_;
};

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
  const Signals signals;
  Reporter reporter(graph.getApp().getName(), options.json, take_stdout(), run_dir);
  UcxWorker::set_environment(true);
  Inbox<News> inbox;
  LoopbackHub hub;
  NodeOptions node_options;
  node_options.name = std::string(graph.getApp().getName()) + ".host";
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
  if (outcome.result) return 0;
  reporter.report({"failed", {{"error", outcome.result.error().what}}});
  return complain(outcome.result.error());
}

}  // namespace

int run_command(const RunOptions& options, const ActorKinds& kinds) {
  const auto loaded = load_graph(options.graph, options.sets, kinds);
  if (!loaded) return complain(loaded.error());
  const auto graph = loaded->graph();
  if (options.in_process) {
    if (const auto program = other_host(graph, kinds)) {
      return complain(become_host(options, *program).error());
    }
  }
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
