// SPDX-License-Identifier: Apache-2.0
// The command line's grammar. CLI11 reads it and writes the help; misspelt commands and options are
// found here, because CLI11 only says that it met something that it did not expect.
#include "apps/troupe/command_line.hpp"

#include "actors/core/supervise/placement.hpp"
#include "apps/troupe/address.hpp"
#include "apps/troupe/graph/graph_help.hpp"
#include "messages/reflect.hpp"
#include "messages/version.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
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
  NodeCommandOptions node;
  GraphCheckOptions graph_check;
  DoctorOptions doctor;
  BenchOptions bench;
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
  app.add_option("GRAPH", into.graph, "The graph, a TOML file")->required();
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
void add_offers(CLI::App& app, NodeCommandOptions& into) {
  app.add_option("--label", into.labels,
                 "A label that actors may need (needs.labels). May be given several times")
      ->allow_extra_args(false)
      ->type_name("LABEL")
      ->check(CLI::Validator(check_label, ""));
  app.add_option("--cpus", into.cpus, "Processors to offer (default: all)")->type_name("NUMBER");
  app.add_option("--gpu", into.gpu, "GPUs to offer (default: all)")->type_name("NUMBER");
  app.add_option_function<std::string>(
         "--memory",
         [&into](const std::string& text) {
           const auto bytes = parse_bytes(text);
           if (!bytes) throw CLI::ValidationError("--memory", bytes.error().what);
           into.memory = *bytes;
         },
         "Memory to offer, such as 16GiB (default: all)")
      ->type_name("BYTES");
}

void add_node(CLI::App& root, NodeCommandOptions& into) {
  auto& app = *root.add_subcommand("node", "Be a node of a cluster");
  add_address(app, "--listen", into.listen, "Where the control port listens");
  add_address(app, "--join", into.join, "A node of the cluster to join");
  app.add_option("--name", into.name, "Name of the node (default: made from the host's name)")
      ->type_name("NAME")
      ->check(CLI::Validator(check_name, ""));
  add_secret(app, into.secret_file);
  app.add_flag("--encrypt", into.encrypt,
               "Encrypt all that nodes say to each other; all nodes of a cluster or none");
  add_scheduler(app, into.scheduler);
  add_offers(app, into);
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

// Follows the words down to the command that they name; `wrong` gets the first word that no command
// has.
CLI::App* follow(CLI::App& root, const std::vector<std::string>& words, std::string& wrong) {
  auto* at = &root;
  for (const auto& word : words) {
    const auto names = command_names(*at);
    if (names.empty() || word.rfind('-', 0) == 0) return at;
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      wrong = word;
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
  if (root.got_subcommand("run")) return std::move(filled.run);
  if (root.got_subcommand("node")) return std::move(filled.node);
  if (root.got_subcommand("doctor")) return filled.doctor;
  if (root.got_subcommand("bench")) return std::move(filled.bench);
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
  add_node(root, filled.node);
  add_graph(root, filled.graph_check, kinds);
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
    if (command_names(command).empty()) return mistake(command, error.what());
    return {std::nullopt, 2, command.help()};
  } catch (const CLI::ParseError& error) {
    return mistake(command, error.what());
  }
  return {pick(root, std::move(filled)), 0, {}};
}

}  // namespace troupe
