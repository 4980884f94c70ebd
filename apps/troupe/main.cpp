// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/command_line.hpp"
#include "apps/troupe/commands.hpp"
#include "gpu/easyscale/kinds.hpp"

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

// Which function carries out which command.
struct Dispatch {
  const troupe::ActorKinds& kinds;

  int operator()(const troupe::RunOptions& o) const { return troupe::run_command(o, kinds); }
  int operator()(const troupe::NodeCommandOptions& o) const {
    return troupe::node_command(o, kinds);
  }
  int operator()(const troupe::GraphCheckOptions& o) const {
    return troupe::graph_check_command(o, kinds);
  }
  int operator()(const troupe::DoctorOptions& o) const { return troupe::doctor_command(o); }
};

int run(const std::vector<std::string>& words) {
  troupe::ActorKinds kinds;
  troupe::register_easyscale(kinds);
  const auto line = troupe::parse_command_line(words, kinds);
  if (line.command) return std::visit(Dispatch{kinds}, *line.command);
  std::fputs(line.text.c_str(), line.exit_status == 0 ? stdout : stderr);
  return line.exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "troupe: internal fault: %s\n", fault.what());
    return 1;
  }
}
