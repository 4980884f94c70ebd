// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "apps/troupe/options.hpp"

// The commands, one file each. Each returns the exit status: 0, or 1 where what was asked for
// failed. Data goes to stdout, talk and errors go to stderr.

namespace troupe {

/// Runs an application until it ends.
int run_command(const RunOptions& options, const ActorKinds& kinds);

/// Says where two runs begin to differ; 0 where they do not.
int run_verify_command(const RunVerifyOptions& options, const ActorKinds& kinds);

/// Lists the checkpoints of a run or a folder.
int checkpoint_ls_command(const CheckpointListOptions& options, const ActorKinds& kinds);

/// Lists them after comparing all hashes; 0 where all are good and there is one.
int checkpoint_verify_command(const CheckpointVerifyOptions& options, const ActorKinds& kinds);

/// Compares two checkpoints element by element; 0 where they are equal.
int checkpoint_diff_command(const CheckpointDiffOptions& options, const ActorKinds& kinds);

/// Is a node until it is told to stop.
int run_node(const NodeCommandOptions& options, const ActorKinds& kinds);

/// Reads and checks a graph and lists its actors; starts nothing.
int graph_check_command(const GraphCheckOptions& options, const ActorKinds& kinds);

/// Tells what this machine has, and what follows.
int doctor_command(const DoctorOptions& options);

// On a running cluster (apps/troupe/cluster).

/// Lists the actors and nodes, or the actors that have ended.
int ps_command(const PsOptions& options);

/// Draws who looks after whom.
int tree_command(const TreeOptions& options);

/// Shows the actors again and again.
int top_command(const TopOptions& options);

/// Ends an actor.
int kill_command(const KillOptions& options);

/// Asks a node to end in good order.
int drain_command(const DrainOptions& options);

/// Prints the logs of actors, in the order of time.
int logs_command(const LogsOptions& options);

/// Becomes the benchmark's own program; returns only where there is none of that name.
int bench_command(const BenchOptions& options);

}  // namespace troupe
