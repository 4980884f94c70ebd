// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/node.hpp"
#include "messages/ids.hpp"
#include "messages/units.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What a user asked for, one struct a command. Filled by parse_command_line; everything in here is
// well formed, which says nothing yet of whether files, hosts and actors exist.

namespace troupe {

enum class Output { table, json, name };

/// `troupe run GRAPH`
struct RunOptions {
  std::string graph;
  std::vector<std::string> sets;         ///< "trainers.count=3", for load_graph
  std::vector<std::string> kill_one_at;  ///< "40", "40:exchange", "40:exchange:1"
  bool in_process = false;
  bool json = false;             ///< -o json: one event a line
  std::vector<Address> cluster;  ///< members of the cluster to run on; empty: this machine
  std::string secret_file;       ///< of that cluster; empty: the default place
  bool encrypt = false;          ///< as that cluster does
};

/// `troupe node`
struct NodeCommandOptions {
  std::optional<Address> listen;  ///< port 0: any free port
  std::optional<Address> join;
  std::string name;                   ///< empty: made from the host's name
  std::string secret_file;            ///< empty: the default place
  bool encrypt = false;               ///< all that it says to other nodes; they must want the same
  std::vector<std::string> labels;    ///< for what actors need, as graphs say it
  std::optional<std::uint32_t> cpus;  ///< what it offers; empty: what the machine has
  std::optional<std::uint32_t> gpu;   ///< as above
  std::optional<Bytes> memory;        ///< as above
  SchedulerOptions scheduler;         ///< --scheduler, --threads
  bool launched = false;              ///< a host node started it: it ends when `join` is gone
  std::optional<int> secret_fd;  ///< a descriptor from which the secret is read, instead of a file
};

/// `troupe graph check FILE`
struct GraphCheckOptions {
  std::string graph;
  std::vector<std::string> sets;
  Output output = Output::table;
};

/// `troupe doctor`
struct DoctorOptions {
  Output output = Output::table;
};

/// `troupe bench NAME`
struct BenchOptions {
  std::string name;
  Output output = Output::table;
  bool thorough = false;  ///< --long
  bool quick = false;
};

using Command =
    std::variant<RunOptions, NodeCommandOptions, GraphCheckOptions, DoctorOptions, BenchOptions>;

}  // namespace troupe
