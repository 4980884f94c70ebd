// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "messages/app_graph.capnp.h"
#include "messages/result.hpp"

#include <optional>
#include <string>

namespace troupe {

/// The program that hosts an actor: the one that it names, else its kind's; empty: nobody says.
[[nodiscard]] std::string program_of(msg::Actor::Reader actor, const ActorKinds& kinds);

/// The path of a program that a graph or a kind names: one with a '/' is a path already, any other
/// is looked for beside this program. The error names where it was looked for.
[[nodiscard]] Result<std::string> find_program(const std::string& name);

/// Whether all programs that a graph names are there.
[[nodiscard]] Result<void> check_programs(msg::AppGraph::Reader graph, const ActorKinds& kinds);

/// The path of the program that must host this whole graph in one process; nothing: this one does.
/// `stands_for` is a path that counts as this program too; it may be empty. A graph whose actors
/// need several programs is refused.
[[nodiscard]] Result<std::optional<std::string>> other_host(msg::AppGraph::Reader graph,
                                                            const ActorKinds& kinds,
                                                            const std::string& stands_for);

}  // namespace troupe
