// SPDX-License-Identifier: Apache-2.0
// The command line's grammar. CLI11 reads it and writes the help; misspelt commands and options are
// found here, because CLI11 only says that it met something that it did not expect.
#include "apps/troupe/command_line.hpp"

#include "actors/base/logfmt.hpp"
#include "actors/core/membership/membership_wire.hpp"
#include "actors/core/supervise/placement.hpp"
#include "apps/troupe/address.hpp"
#include "apps/troupe/graph/graph_help.hpp"
#include "messages/reflect.hpp"
#include "messages/version.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <map>
#include <sstream>
#include <utility>

namespace troupe {
namespace {

constexpr const char* set_help =
    "Override a value of the graph: app.seed=1, trainers.count=3, trainers.args.epochs=2, "
    "supervisor.intensity.restarts=9. May be given several times";

// Where the options land; after parsing, the command that was given picks its own.
struct Filled {
  RunOptions run;
  RunVerifyOptions run_verify;
  CheckpointListOptions checkpoint_ls;
  CheckpointVerifyOptions checkpoint_verify;
  CheckpointDiffOptions checkpoint_diff;
  NodeCommandOptions node;
  GraphCheckOptions graph_check;
  DoctorOptions doctor;
  BenchOptions bench;
  PsOptions ps;
  TreeOptions tree;
  TopOptions top;
  KillOptions kill;
  DrainOptions drain;
  LogsOptions logs;
};

std::string check_set(const std::string& option) {
  const auto equals = option.find('=');
  const auto dot = option.find('.');
  if (equals != std::string::npos && dot != std::string::npos && dot < equals) return {};
  return "'" + option + "' is not TARGET.KEY=VALUE, such as app.seed=1 or trainers.args.epochs=2";
}

bool is_number(const std::string& word) {
  return !word.empty() && word.size() <= 18 &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// STEP[:PHASE[:TRAINER]]
std::string check_kill(const std::string& option) {
  static const std::vector<std::string> phases = {"forward", "exchange", "optimizer"};
  std::vector<std::string> parts(1);
  for (const char c : option) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  const bool fits =
      parts.size() <= 3 && is_number(parts[0]) && (parts.size() < 3 || is_number(parts[2]));
  if (!fits) return "'" + option + "' is not STEP[:PHASE[:TRAINER]], such as 40 or 40:exchange:1";
  if (parts.size() == 1 || std::find(phases.begin(), phases.end(), parts[1]) != phases.end())
    return {};
  return "no phase '" + parts[1] + "'" + did_you_mean(parts[1], phases);
}

std::string check_name(const std::string& name) {
  if (is_node_name(name)) return {};
  return "'" + name + "' is no node name: use letters, digits, '.', '_' and '-', at most 100";
}

std::string check_label(const std::string& label) {
  return is_label(label) ? std::string() : "'" + label + "' is no label: " + label_rule;
}

Address address_of(const std::string& flag, const std::string& text) {
  auto address = parse_address(text);
  if (!address) throw CLI::ValidationError(flag, "'" + text + "': " + address.error().what);
  return *address;
}

// What a node is to others, and what it offers them.
void add_membership(CLI::App& app, NodeCommandOptions& into) {
  app.add_option_function<std::string>(
         "--role",
         [&into](const std::string& word) {
           if (word != "control" && word != "host") {
             throw CLI::ValidationError(
                 "--role", "no role '" + word + "'" + did_you_mean(word, {"control", "host"}));
           }
           into.role = word == "control" ? NodeRole::control : NodeRole::host;
         },
         "control: may also keep leases and jobs; host: only runs actors (default)")
      ->type_name("control|host");
  app.add_option(
         "--label", into.labels,
         "A label that actors may need (needs.labels), such as zone=a. May be given several "
         "times")
      ->allow_extra_args(false)
      ->type_name("LABEL")
      ->check(CLI::Validator(check_label, ""));
  app.add_option("--cpus", into.cpus,
                 "Processors to offer to actors (default: those that it may use)")
      ->type_name("NUMBER")
      ->check(CLI::Range(0.0, 1e6));
  app.add_option("--gpu", into.gpu, "GPUs to offer (default: all)")->type_name("NUMBER");
  app.add_option_function<std::string>(
         "--memory",
         [&into](const std::string& text) {
           auto bytes = parse_bytes(text);
           if (!bytes) throw CLI::ValidationError("--memory", bytes.error().what);
           into.memory = *bytes;
         },
         "Memory to offer to actors, such as 16GiB (default: what it may use)")
      ->type_name("BYTES");
}

// An option that is a host and a port.
void add_address(CLI::App& app, const std::string& flag, std::optional<Address>& into,
                 const std::string& help) {
  app.add_option_function<std::string>(
         flag, [&into, flag](const std::string& text) { into = address_of(flag, text); }, help)
      ->type_name("HOST:PORT");
}

void add_sets(CLI::App& app, std::vector<std::string>& into) {
  app.add_option("--set", into, set_help)
      ->allow_extra_args(false)
      ->type_name("TARGET.KEY=VALUE")
      ->check(CLI::Validator(check_set, ""));
}

void add_output(CLI::App& app, Output& into, std::map<std::string, Output> words) {
  std::vector<std::string> names;
  std::string listed;
  for (const auto& entry : words) {
    names.push_back(entry.first);
    listed += (listed.empty() ? "" : "|") + entry.first;
  }
  app.add_option_function<std::string>(
         "-o,--output",
         [&into, words, names](const std::string& word) {
           const auto it = words.find(word);
           if (it == words.end()) {
             throw CLI::ValidationError("-o",
                                        "no output '" + word + "'" + did_you_mean(word, names));
           }
           into = it->second;
         },
         "How to print the result (default: table)")
      ->type_name(listed);
}

CLI::Option* add_secret(CLI::App& app, std::string& into) {
  return app.add_option("--secret-file", into, "File with the cluster's secret, mode 0600")
      ->type_name("FILE");
}

const std::map<std::string, Output> listing = {
    {"table", Output::table}, {"json", Output::json}, {"name", Output::name}};

// After add_run, whose command becomes one that also has commands of its own.
void add_run_verify(CLI::App& root, Filled& into) {
  auto& run = *root.get_subcommand("run");
  run.final_callback([&run, &into] {
    if (into.run.graph.empty() && run.get_subcommands().empty()) throw CLI::RequiredError("GRAPH");
  });
  auto& app = *run.add_subcommand("verify", "Say where two runs begin to differ");
  app.add_option("RUN_A", into.run_verify.a, "A run: its directory, or JOB/RUN below TROUPE_HOME")
      ->required();
  app.add_option("RUN_B", into.run_verify.b, "Another one")->required();
  add_output(app, into.run_verify.output, listing);
  app.footer("Exit status 0: equal in all steps that both have hashes of.\nExample:\n  " +
             root.get_name() + " run verify digits/20261130-120000-41 digits/20261130-120500-42");
}

void add_checkpoint(CLI::App& root, Filled& into) {
  auto& app = *root.add_subcommand("checkpoint", "Look at checkpoints");
  app.require_subcommand(1);
  const std::string example = "Example:\n  " + root.get_name() + " checkpoint ";
  app.footer(example + "ls digits/20261130-120000-41");
  const auto add = [&](const char* name, const char* help, CheckpointListOptions& options) {
    auto& one = *app.add_subcommand(name, help);
    one.add_option(
           "PLACE", options.place,
           "A run (its directory, or JOB/RUN below TROUPE_HOME), a folder of checkpoints, or "
           "one of them")
        ->required();
    add_output(one, options.output, listing);
    one.footer(example + name + " digits/20261130-120000-41");
  };
  add("ls", "List the checkpoints of a run or a folder", into.checkpoint_ls);
  add("verify", "Compare all bytes with the hashes written with them; exit status 0: all good",
      into.checkpoint_verify);
  auto& diff = *app.add_subcommand(
      "diff", "Compare two checkpoints element by element; exit status 0: equal");
  diff.add_option("A", into.checkpoint_diff.a, "A checkpoint; of several in a place the newest")
      ->required();
  diff.add_option("B", into.checkpoint_diff.b, "Another one")->required();
  add_output(diff, into.checkpoint_diff.output, listing);
  diff.footer(example + "diff digits/20261130-120000-41 digits/20261130-120500-42");
}

void add_cluster(CLI::App& app, RunOptions& into, CLI::Option& in_process) {
  auto* cluster = app.add_option_function<std::vector<std::string>>(
      "--cluster",
      [&into](const std::vector<std::string>& texts) {
        for (const auto& text : texts) into.cluster.push_back(address_of("--cluster", text));
      },
      "Run the actors on the nodes of a cluster; this is one of them. May be given several times");
  cluster->allow_extra_args(false)->type_name("HOST:PORT")->excludes(&in_process);
  add_secret(app, into.secret_file)->needs(cluster);
  app.add_flag("--encrypt", into.encrypt, "Encrypt what is said in the cluster, as its nodes do")
      ->needs(cluster);
}

void add_http(CLI::App& app, std::optional<Address>& into) {
  add_address(app, "--http", into,
              "Where /metrics, /alive and /ready are answered, such as 127.0.0.1:9464 (default: "
              "nowhere)");
}

void add_scheduler(CLI::App& app, SchedulerOptions& into) {
  app.add_option_function<std::string>(
         "--scheduler",
         [&into](const std::string& word) {
           if (word != "sharing" && word != "stealing") {
             throw CLI::ValidationError(
                 "--scheduler",
                 "no scheduler '" + word + "'" + did_you_mean(word, {"sharing", "stealing"}));
           }
           into.policy = word == "sharing" ? SchedulerOptions::Policy::sharing
                                           : SchedulerOptions::Policy::stealing;
         },
         "How actors share threads: one queue for all (sharing, the default), or one for each "
         "thread (stealing: for many actors on many cores)")
      ->type_name("sharing|stealing");
  app.add_option("--threads", into.threads,
                 "Threads that run actors (default: as many as cores, 2 to 4)")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::size_t{1}, SchedulerOptions::max_threads));
}

void add_run(CLI::App& root, RunOptions& into) {
  auto& app = *root.add_subcommand("run", "Run an application graph until it ends");
  app.add_option("GRAPH", into.graph, "The graph, a TOML file");
  app.add_option("--resume", into.resume,
                 "Go on from the newest good checkpoint of a run (its directory, or JOB/RUN below "
                 "TROUPE_HOME), of a folder, or from this one")
      ->type_name("RUN|FOLDER");
  add_sets(app, into.sets);
  app.add_option(
         "--kill-one-at", into.kill_one_at,
         "Kill a trainer in mid-step, to see that the result stays the same. PHASE: forward, "
         "exchange or optimizer. May be given several times")
      ->allow_extra_args(false)
      ->type_name("STEP[:PHASE[:TRAINER]]")
      ->check(CLI::Validator(check_kill, ""));
  auto* in_process =
      app.add_flag("--in-process", into.in_process, "Run all actors in this process");
  add_cluster(app, into, *in_process);
  add_http(app, into.http);
  app.add_option_function<std::string>(
         "-o,--output",
         [&into](const std::string& word) {
           if (word != "text" && word != "json") {
             throw CLI::ValidationError(
                 "-o", "no output '" + word + "'" + did_you_mean(word, {"text", "json"}));
           }
           into.json = word == "json";
         },
         "text: progress (default); json: one event a line")
      ->type_name("text|json");
  app.footer("Example: three trainers, one of them killed in step 40\n  " + root.get_name() +
             " run apps/examples/digits.toml --set trainers.count=3 --kill-one-at 40");
}

// What actors of other nodes' jobs find here.
void add_node(CLI::App& root, NodeCommandOptions& into) {
  auto& app = *root.add_subcommand("node", "Be a node of a cluster");
  add_address(app, "--listen", into.listen, "Where the control port listens");
  add_address(app, "--join", into.join, "A node of the cluster to join");
  app.add_flag("--join-retry", into.join_retry,
               "Wait for a node that cannot be reached, instead of giving up after 4 tries");
  add_membership(app, into);
  app.add_option("--name", into.name, "Name of the node (default: made from the host's name)")
      ->type_name("NAME")
      ->check(CLI::Validator(check_name, ""));
  add_secret(app, into.secret_file);
  add_http(app, into.http);
  app.add_flag("--encrypt", into.encrypt,
               "Encrypt all that nodes say to each other; all nodes of a cluster or none");
  add_scheduler(app, into.scheduler);
  // For the processes that a host node starts (actors/core/engine_process.cpp), so not in the help.
  app.add_flag("--launched", into.launched)->group("");
  app.add_option("--secret-fd", into.secret_fd)->group("")->check(CLI::NonNegativeNumber);
  app.footer("Example: a node that others can join, and one that joins it\n  " + root.get_name() +
             " node --listen 127.0.0.1:7070 --name first\n  " + root.get_name() +
             " node --join 127.0.0.1:7070 --name second");
}

void add_graph(CLI::App& root, GraphCheckOptions& into, const ActorKinds& kinds) {
  auto& graph = *root.add_subcommand("graph", "Look at application graphs");
  graph.require_subcommand(1);
  graph.footer("Example:\n  " + root.get_name() + " graph check apps/examples/digits.toml");
  auto& check = *graph.add_subcommand("check", "Check a graph without starting anything");
  check.add_option("GRAPH", into.graph, "The graph, a TOML file")->required();
  add_sets(check, into.sets);
  add_output(check, into.output,
             {{"table", Output::table}, {"json", Output::json}, {"name", Output::name}});
  check.footer("");  // else it would inherit its parent's example
  check.footer([&kinds, program = root.get_name()] {
    return "Example:\n  " + program +
           " graph check apps/examples/digits.toml --set trainers.count=8\n\n" + graph_help(kinds);
  });
}

void add_doctor(CLI::App& root, DoctorOptions& into) {
  auto& app = *root.add_subcommand("doctor", "Tell what this machine has, and what follows");
  add_output(app, into.output, {{"table", Output::table}, {"json", Output::json}});
  app.footer("Example:\n  " + root.get_name() + " doctor -o json");
}

// What the commands on a running cluster have in common.
void add_cluster(CLI::App& app, ClusterOptions& cluster, Output& output) {
  add_output(app, output,
             {{"table", Output::table}, {"json", Output::json}, {"name", Output::name}});
  app.add_option("--node", cluster.node,
                 "Which node of this machine to ask, by name or process (default: the only one)")
      ->type_name("NAME");
  add_address(app, "--connect", cluster.connect, "A node to ask instead, on any machine");
  add_secret(app, cluster.secret_file);
  app.add_flag("--encrypt", cluster.encrypt, "With --connect: the nodes there run with --encrypt");
}

void add_ps(CLI::App& root, PsOptions& into) {
  auto& app = *root.add_subcommand("ps", "List the nodes and actors of a running cluster");
  app.add_option("PATH", into.path, "Only this actor and those below it: digits, digits/trainers");
  app.add_flag("--ended", into.ended, "Those that have ended, with their first causes, instead");
  add_cluster(app, into.cluster, into.output);
  app.footer("Example:\n  " + root.get_name() + " ps digits");
}

void add_tree(CLI::App& root, TreeOptions& into) {
  auto& app = *root.add_subcommand("tree", "Draw who looks after whom");
  app.add_option("PATH", into.path, "Only this actor and those below it");
  add_cluster(app, into.cluster, into.output);
  app.footer("Example:\n  " + root.get_name() + " tree");
}

void add_top(CLI::App& root, TopOptions& into) {
  auto& app = *root.add_subcommand("top", "Show the actors again and again, those in need first");
  app.add_option("-n,--count", into.count,
                 "How many times (default: without end on a terminal, else once)")
      ->type_name("COUNT")
      ->check(CLI::Range(1U, 1000000U));
  app.add_option("--every-ms", into.every_ms, "How long to wait in between (default: 1000)")
      ->type_name("MS")
      ->check(CLI::Range(100U, 3600000U));
  add_cluster(app, into.cluster, into.output);
  app.footer("Example:\n  " + root.get_name() + " top -n 1");
}

void add_kill(CLI::App& root, KillOptions& into) {
  auto& app = *root.add_subcommand("kill", "End an actor; its supervisor starts it again");
  app.add_option("PATH", into.path, "The actor: digits/trainers/0")->required();
  app.add_flag("--stop", into.stop,
               "Ask it to end by itself: then only a permanent one is started again");
  add_cluster(app, into.cluster, into.output);
  app.footer("Example:\n  " + root.get_name() + " kill digits/trainers/0");
}

void add_drain(CLI::App& root, DrainOptions& into) {
  auto& app = *root.add_subcommand("drain", "Ask a node to end in good order");
  app.add_option("NODE", into.target, "The node's name")->required();
  add_cluster(app, into.cluster, into.output);
  app.footer("Example:\n  " + root.get_name() + " drain second");
}

std::string check_since(const std::string& text, std::int64_t& into) {
  if (const auto time = parse_time_ms(text)) {
    into = *time;
    return {};
  }
  const auto back = parse_duration(text);
  if (!back)
    return "'" + text +
           "' is neither a duration such as 10min nor a time such as "
           "2026-05-01T12:00:00Z";
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  into = std::chrono::duration_cast<std::chrono::milliseconds>(now).count() - back->count();
  return {};
}

void add_logs(CLI::App& root, LogsOptions& into) {
  auto& app = *root.add_subcommand("logs", "Print the logs of actors, also when they have ended");
  app.add_option("PATH", into.target, "A job, or an actor and those below it: digits/trainers")
      ->required();
  app.add_flag("-f,--follow", into.follow, "Go on with what comes, until the job ends");
  app.add_option_function<std::string>(
         "--since",
         [&into](const std::string& text) {
           const auto wrong = check_since(text, into.since_ms);
           if (!wrong.empty()) throw CLI::ValidationError("--since", wrong);
         },
         "Only lines that are not older than that")
      ->type_name("DURATION|TIME");
  app.add_option("--run", into.run,
                 "Which run of the job, as its folder is called (default: the last)")
      ->type_name("RUN");
  add_cluster(app, into.cluster, into.output);
  app.footer("Example:\n  " + root.get_name() + " logs -f digits/trainers/0 --since 10min");
}

void add_bench(CLI::App& root, BenchOptions& into) {
  auto& app = *root.add_subcommand("bench", "Measure what this machine does with Troupe");
  app.add_option("NAME", into.name, "The benchmark: actors")->required();
  add_output(app, into.output, {{"table", Output::table}, {"json", Output::json}});
  auto* thorough = app.add_flag("--long", into.thorough, "Measure more, and longer");
  app.add_flag("--quick", into.quick, "Measure hardly anything, to see that it works")
      ->excludes(thorough);
  app.footer("Example: round trips and rates of messages between actors\n  troupe bench actors");
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : full_name(*app.get_parent()) + " " + app.get_name();
}

bool takes_words(const CLI::App& app) {
  const auto options = app.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const auto* option) { return option->get_positional(); });
}

// Follows the words down to the command that they name; `wrong` gets the first word that no command
// has.
CLI::App* follow(CLI::App& root, const std::vector<std::string>& words, std::string& wrong) {
  auto* at = &root;
  for (const auto& word : words) {
    const auto names = command_names(*at);
    if (names.empty() || word.rfind('-', 0) == 0) return at;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      if (!takes_words(*at)) wrong = word;
      return at;
    }
    at = at->get_subcommand(word);
  }
  return at;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // not in the help, so not offered either
    for (const auto& name : option->get_lnames()) names.push_back("--" + name);
    for (const auto& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string describe_extra(const CLI::App& root, const CLI::App& command) {
  const auto rest = root.remaining(true);
  if (rest.empty()) return "something was not understood";
  auto word = rest.front();
  if (word.rfind('-', 0) != 0) return "unexpected argument '" + word + "'";
  word = word.substr(0, word.find('='));
  return "unknown option '" + word + "'" + did_you_mean(word, option_names(command));
}

CommandLine mistake(const CLI::App& command, const std::string& what) {
  const auto name = full_name(command);
  return {std::nullopt, 2, name + ": " + what + "\nSee '" + name + " --help'.\n"};
}

Command pick(const CLI::App& root, Filled filled) {
  if (root.got_subcommand("run")) {
    if (root.get_subcommand("run")->got_subcommand("verify")) return std::move(filled.run_verify);
    return std::move(filled.run);
  }
  if (root.got_subcommand("checkpoint")) {
    const auto& checkpoint = *root.get_subcommand("checkpoint");
    if (checkpoint.got_subcommand("ls")) return std::move(filled.checkpoint_ls);
    if (checkpoint.got_subcommand("verify")) return std::move(filled.checkpoint_verify);
    return std::move(filled.checkpoint_diff);
  }
  if (root.got_subcommand("node")) return std::move(filled.node);
  if (root.got_subcommand("doctor")) return filled.doctor;
  if (root.got_subcommand("bench")) return std::move(filled.bench);
  if (root.got_subcommand("ps")) return std::move(filled.ps);
  if (root.got_subcommand("tree")) return std::move(filled.tree);
  if (root.got_subcommand("top")) return std::move(filled.top);
  if (root.got_subcommand("kill")) return std::move(filled.kill);
  if (root.got_subcommand("drain")) return std::move(filled.drain);
  if (root.got_subcommand("logs")) return std::move(filled.logs);
  return std::move(filled.graph_check);
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& words, const ActorKinds& kinds,
                               const std::string& program) {
  Filled filled;
  CLI::App root("Troupe: elastic deep learning on actors", program);
  root.set_version_flag("--version", program + " " + program_version);
  root.require_subcommand(1);
  root.footer("Example:\n  " + program + " run apps/examples/digits.toml");
  add_run(root, filled.run);
  add_run_verify(root, filled);
  add_checkpoint(root, filled);
  add_node(root, filled.node);
  add_graph(root, filled.graph_check, kinds);
  add_ps(root, filled.ps);
  add_tree(root, filled.tree);
  add_top(root, filled.top);
  add_logs(root, filled.logs);
  add_kill(root, filled.kill);
  add_drain(root, filled.drain);
  add_doctor(root, filled.doctor);
  add_bench(root, filled.bench);

  std::string wrong;
  const auto& command = *follow(root, words, wrong);
  if (!wrong.empty()) {
    return mistake(command,
                   "no command '" + wrong + "'" + did_you_mean(wrong, command_names(command)));
  }
  try {
    root.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, 0, root.help()};
  } catch (const CLI::CallForVersion& version) {
    return {std::nullopt, 0, std::string(version.what()) + "\n"};
  } catch (const CLI::ExtrasError&) {
    return mistake(command, describe_extra(root, command));
  } catch (const CLI::RequiredError& error) {
    if (command_names(command).empty() || takes_words(command)) {
      return mistake(command, error.what());
    }
    return {std::nullopt, 2, command.help()};
  } catch (const CLI::ParseError& error) {
    return mistake(command, error.what());
  }
  return {pick(root, std::move(filled)), 0, {}};
}

}  // namespace troupe
