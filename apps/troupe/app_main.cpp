// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/app_main.hpp"

#include "actors/control/operate/control_actor.hpp"
#include "actors/core/node_actor.hpp"
#include "apps/troupe/command_line.hpp"
#include "apps/troupe/commands.hpp"
#include "apps/troupe/host/streams.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>
#include <variant>
#include <vector>

namespace troupe {
namespace {

// Which function carries out which command.
struct Dispatch {
  const ActorKinds& kinds;

  int operator()(const RunOptions& o) const { return run_command(o, kinds); }
  int operator()(const RunVerifyOptions& o) const { return run_verify_command(o, kinds); }
  int operator()(const CheckpointListOptions& o) const { return checkpoint_ls_command(o, kinds); }
  int operator()(const CheckpointVerifyOptions& o) const {
    return checkpoint_verify_command(o, kinds);
  }
  int operator()(const CheckpointDiffOptions& o) const { return checkpoint_diff_command(o, kinds); }
  int operator()(const NodeCommandOptions& o) const { return run_node(o, kinds); }
  int operator()(const GraphCheckOptions& o) const { return graph_check_command(o, kinds); }
  int operator()(const DoctorOptions& o) const { return doctor_command(o); }
  int operator()(const BenchOptions& o) const { return bench_command(o); }
  int operator()(const PsOptions& o) const { return ps_command(o); }
  int operator()(const TreeOptions& o) const { return tree_command(o); }
  int operator()(const TopOptions& o) const { return top_command(o); }
  int operator()(const KillOptions& o) const { return kill_command(o); }
  int operator()(const DrainOptions& o) const { return drain_command(o); }
  int operator()(const LogsOptions& o) const { return logs_command(o); }
};

int carry_out(const std::vector<std::string>& words, const ActorKinds& kinds) {
  const auto line = parse_command_line(words, kinds, program_invocation_short_name);
  if (line.command) return std::visit(Dispatch{kinds}, *line.command);
  std::fputs(line.text.c_str(), line.exit_status == 0 ? stdout : stderr);
  return line.exit_status;
}

int complain(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  return 1;
}

}  // namespace

int app_main(int argc, char** argv, ActorKinds& kinds) {
  open_missing_streams();
  try {
    register_node_messages(kinds);
    register_control_messages(kinds);
    const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
    const int status = carry_out(words, kinds);
    if (const auto finished = finish_stdout(); !finished) {
      return complain(finished.error().what);
    }
    return status;
  } catch (const std::exception& fault) {
    return complain(std::string("internal fault: ") + fault.what());
  }
}

}  // namespace troupe
