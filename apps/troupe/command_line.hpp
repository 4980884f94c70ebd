// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "apps/troupe/options.hpp"

#include <optional>
#include <string>
#include <vector>

namespace troupe {

/// What came of reading a command line: a command to carry out, or a text to print and an exit
/// status (0 for help and version on stdout, 2 for a mistake on stderr).
struct CommandLine {
  std::optional<Command> command;
  int exit_status = 0;
  std::string text;
};

/// Reads the words after the program's name. A word that no command has gets the one that was
/// probably meant. `kinds` is for the help of `graph check`, which lists their keys; `program` is
/// what texts call this program.
[[nodiscard]] CommandLine parse_command_line(const std::vector<std::string>& words,
                                             const ActorKinds& kinds,
                                             const std::string& program = "troupe");

}  // namespace troupe
