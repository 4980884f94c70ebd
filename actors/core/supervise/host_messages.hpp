// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/message.hpp"
#include "actors/core/supervise/host_table.hpp"
#include "actors/core/supervise/snapshot.hpp"
#include "messages/supervise.capnp.h"

#include <string>
#include <utility>
#include <vector>

namespace troupe {

class ActorKinds;
class Node;

/// What nodes say to each other about launched programs.
void register_supervise_messages(ActorKinds& kinds);

/// Under which a node's host actor is offered (Node::offer).
constexpr const char* host_service = "host";

void write_resources(msg::Resources::Builder to, const Resources& from);
[[nodiscard]] Resources read_resources(msg::Resources::Reader from);

void write_life(msg::Launched::Builder to, const HostedLife& life);

/// A Spawn that is part of another message, as a message of its own.
[[nodiscard]] Msg<msg::Spawn> copy_spawn(msg::Spawn::Reader from, Slice blob = {});
/// The same for the life that `kept` is for, without its state.
void write_kept(msg::Spawn::Builder to, Node& node, const Kept& kept);
[[nodiscard]] Kept read_kept(Node& node, const Msg<msg::Spawn>& request);
/// The bytes without what they are a part of, such as a message that somebody has credit for.
[[nodiscard]] Slice copy_of(const Slice& slice);
void write_spawn(msg::Spawn::Builder to, msg::Spawn::Reader from);

/// Whether a host will start that; the error says what it does not do. A program is a name without
/// '/', a log a path of plain names below the host's folder, and only variables are set that cannot
/// make a program load what its host did not choose.
[[nodiscard]] Result<void> check_launch(msg::Launch::Reader launch);

using Variables = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] Variables read_environment(msg::Launch::Reader launch);

}  // namespace troupe
