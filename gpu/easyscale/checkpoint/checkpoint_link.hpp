// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"
#include "actors/core/message.hpp"
#include "gpu/easyscale/checkpoint/writer_link.hpp"
#include "messages/easyscale.capnp.h"
#include "messages/result.hpp"

#include <filesystem>

namespace troupe {
struct SpawnContext;
}

namespace troupe::easyscale {

/// What a coordinator tells its trainers about checkpoints.
struct CheckpointTerms {
  CheckpointPlan plan;
  std::string job;
  std::string group;
  std::string program;           ///< or module
  std::string settings;          ///< as in JobIdentity
  std::filesystem::path resume;  ///< the checkpoint to go on from; empty: none
};

/// What a graph and `run --resume` say. Looks for the newest good checkpoint to go on from, and
/// tells by events which one that is and which newer ones were refused; an error where there is
/// none.
[[nodiscard]] Result<CheckpointTerms> checkpoint_terms(const SpawnContext& context,
                                                       msg::TrainerArgs::Reader args);

void write(const CheckpointTerms& terms, msg::TrainCheckpoints::Builder to);
[[nodiscard]] CheckpointTerms read_terms(msg::TrainCheckpoints::Reader from);

/// `stall`: how long training waited for it.
[[nodiscard]] Msg<msg::TrainCheckpointed> to_message(const WroteCheckpoint& wrote,
                                                     std::chrono::duration<double> stall);
[[nodiscard]] Msg<msg::TrainCheckpointed> to_message(const MissedCheckpoint& missed);
[[nodiscard]] Msg<msg::TrainHashes> to_message(const HashedState& hashed);

/// "checkpoint" or "checkpoint_missed"
[[nodiscard]] Event to_event(msg::TrainCheckpointed::Reader from);
/// "hashes": for the file of that name, with a text of "TENSOR SHA256" lines.
[[nodiscard]] Event to_event(msg::TrainHashes::Reader from);

}  // namespace troupe::easyscale
