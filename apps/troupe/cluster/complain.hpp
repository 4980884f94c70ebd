// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "apps/troupe/cluster/picture.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <string>

namespace troupe {

// What the commands of this folder say, and where.

/// "troupe ps: ..." on stderr; gives the exit status 1.
int complain(const char* command, const Error& error);

/// Data, to stdout.
void print(const std::string& text);

/// "/jobs/digits/trainers" as it is, "digits/trainers" below /jobs; empty stays empty.
[[nodiscard]] std::string full_path(const std::string& path);

/// A new number for a request, by which its lines are found in the logs of all who served it.
[[nodiscard]] std::uint64_t new_trace();

/// An error where a path was asked for and nobody lives there or below it; it offers the paths that
/// are near.
[[nodiscard]] Result<void> expect_path(ClusterClient& client, const Picture& picture,
                                       const std::string& path);

/// Says on stderr which nodes gave no answer, so that nobody takes a part for the whole.
void note_silent_nodes(const Picture& picture);

}  // namespace troupe
