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
  std::string resume;  ///< a run or a folder of checkpoints to go on from; empty: from the start
  bool in_process = false;
  bool json = false;             ///< -o json: one event a line
  std::vector<Address> cluster;  ///< members of the cluster to run on; empty: this machine
  std::string secret_file;       ///< of that cluster; empty: the default place
  bool encrypt = false;          ///< as that cluster does
  std::optional<Address> http;   ///< where /metrics, /alive and /ready are
};

/// `troupe run verify A B`
struct RunVerifyOptions {
  std::string a;
  std::string b;
  Output output = Output::table;
};

/// `troupe checkpoint ls PLACE` and, as a type of its own, `troupe checkpoint verify PLACE`
struct CheckpointListOptions {
  std::string place;
  Output output = Output::table;
};
struct CheckpointVerifyOptions : CheckpointListOptions {};

/// `troupe checkpoint diff A B`
struct CheckpointDiffOptions {
  std::string a;
  std::string b;
  Output output = Output::table;
};

/// `troupe node`
struct NodeCommandOptions {
  std::optional<Address> listen;  ///< port 0: any free port
  std::optional<Address> join;
  std::optional<Address> http;  ///< where /metrics, /alive and /ready are
  bool join_retry = false;      ///< keep trying to join for ever
  NodeRole role = NodeRole::host;
  std::string name;                  ///< empty: made from the host's name
  std::string secret_file;           ///< empty: the default place
  bool encrypt = false;              ///< all that it says to other nodes; they must want the same
  std::vector<std::string> labels;   ///< for what actors need, as graphs say it
  std::optional<double> cpus;        ///< offered to actors; nothing: what this process may use
  std::optional<std::uint32_t> gpu;  ///< as above
  std::optional<Bytes> memory;       ///< as above
  SchedulerOptions scheduler;        ///< --scheduler, --threads
  bool launched = false;             ///< a host node started it: it ends when `join` is gone
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

/// How a command finds the cluster.
struct ClusterOptions {
  std::optional<Address> connect;  ///< a node anywhere; nothing: one on this machine
  std::string secret_file;         ///< with `connect`; empty: the default place
  bool encrypt = false;            ///< with `connect`: as the nodes there do
  std::string node;                ///< which one on this machine, by name or process
};

/// `troupe ps [PATH]`
struct PsOptions {
  ClusterOptions cluster;
  std::string path;
  bool ended = false;
  Output output = Output::table;
};

/// `troupe tree [PATH]`
struct TreeOptions {
  ClusterOptions cluster;
  std::string path;
  Output output = Output::table;
};

/// `troupe top`
struct TopOptions {
  ClusterOptions cluster;
  std::optional<unsigned> count;  ///< how many times; nothing: for ever on a terminal, else once
  unsigned every_ms = 1000;
  Output output = Output::table;
};

/// `troupe kill PATH`
struct KillOptions {
  ClusterOptions cluster;
  std::string path;
  bool stop = false;
  Output output = Output::table;
};

/// `troupe drain NODE`
struct DrainOptions {
  ClusterOptions cluster;
  std::string target;
  Output output = Output::table;
};

/// `troupe logs PATH|JOB`
struct LogsOptions {
  ClusterOptions cluster;
  std::string target;
  std::string run;  ///< empty: the last one
  bool follow = false;
  std::int64_t since_ms = 0;  ///< milliseconds since 1970; 0: from the beginning
  Output output = Output::table;
};

/// `troupe bench NAME`
struct BenchOptions {
  std::string name;
  Output output = Output::table;
  bool thorough = false;  ///< --long
  bool quick = false;
};

using Command = std::variant<RunOptions, RunVerifyOptions, NodeCommandOptions, GraphCheckOptions,
                             CheckpointListOptions, CheckpointVerifyOptions, CheckpointDiffOptions,
                             DoctorOptions, BenchOptions, PsOptions, TreeOptions, TopOptions,
                             KillOptions, DrainOptions, LogsOptions>;

}  // namespace troupe
