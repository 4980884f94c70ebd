// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/kinds.hpp"
#include "gpu/easyscale/checkpoint/folder_link.hpp"
#include "messages/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace troupe {

/// What a user calls a run or a folder of checkpoints: a path, or else one below TROUPE_HOME, such
/// as digits/20261130-120000-42. An error where there is none.
[[nodiscard]] Result<std::filesystem::path> find_place(const std::string& word);

/// Where the checkpoints of a place are: of a run directory what its graph says, else the place
/// itself.
[[nodiscard]] Result<std::filesystem::path> checkpoints_of(const std::filesystem::path& place,
                                                           const ActorKinds& kinds);

/// All checkpoints of a place, whatever group they are of; a checkpoint's own folder is one as
/// well.
[[nodiscard]] Result<std::vector<easyscale::ListedCheckpoint>> all_checkpoints(
    const std::string& word, const ActorKinds& kinds);

}  // namespace troupe
