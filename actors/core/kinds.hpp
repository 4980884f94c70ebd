// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/event.hpp"
#include "actors/core/message_types.hpp"
#include "actors/core/supervise/snapshot.hpp"
#include "messages/result.hpp"

#include <capnp/any.h>
#include <capnp/dynamic.h>
#include <capnp/schema.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace caf {
class actor;
class actor_system;
}  // namespace caf

namespace troupe {

class Node;

/// What an actor's factory is given. References live as long as the node.
struct SpawnContext {
  Node& node;
  std::string path;                ///< "/jobs/digits/trainers/0"
  capnp::AnyPointer::Reader args;  ///< the kind's args struct; valid during the call only
  std::uint64_t seed = 0;          ///< the application's seed
  std::uint32_t index = 0;         ///< which member of its group
  std::uint32_t count = 1;         ///< how many members the graph asks for
  /// Of a group's leader: grows with each that takes the group over from another.
  std::uint32_t term = 1;
  std::vector<std::string> faults;  ///< what `run --kill-one-at` asked for; for group leaders
  EventSink emit;                   ///< where events go; may be empty
  std::filesystem::path checkpoints = {};  ///< the group's folder for them; for group leaders
  std::filesystem::path resume = {};       ///< what `run --resume` goes on from; for group leaders
  int state_fd = -1;  ///< a memfd that outlives the members of the group on this host, or -1
  Kept kept = {};     ///< what an earlier life has left, and where this one can: keep_snapshot()
};

using SpawnActor = std::function<Result<caf::actor>(const SpawnContext&)>;

/// One kind of actor: its name, the schema of its keys, and how to make one.
struct ActorKind {
  std::string name;          ///< "easyscale.trainer"
  std::string program;       ///< the program that hosts it by default: "troupe-train"
  capnp::StructSchema args;  ///< the struct that `[actor.args]` is read into
  /// Finds what a schema cannot say ("batch must be at least 1"); empty: nothing to find.
  std::function<Result<void>(capnp::DynamicStruct::Reader)> check;
  /// What a member's process has to have in its environment because of its keys; empty: nothing.
  std::function<std::vector<std::pair<std::string, std::string>>(capnp::AnyPointer::Reader)>
      environment;
  /// Makes a member. Empty: this program knows the kind, another one hosts it.
  SpawnActor spawn;
  /// Makes the group's leader, which lives beside the supervisor at the group's own path, hears of
  /// members by MemberUp and MemberDown (supervisor.hpp), and ends when the group's work is done.
  /// Empty: members need no leader.
  SpawnActor lead;
};

/// The kinds that one program knows; `main()` fills it and hands it down.
class ActorKinds {
 public:
  /// A later kind of the same name replaces the earlier one.
  void add(ActorKind kind) { kinds_[kind.name] = std::move(kind); }

  [[nodiscard]] const ActorKind* find(const std::string& name) const {
    const auto it = kinds_.find(name);
    return it == kinds_.end() ? nullptr : &it->second;
  }

  /// The messages that these kinds send between processes.
  [[nodiscard]] MessageTypes& messages() { return messages_; }
  [[nodiscard]] const MessageTypes& messages() const { return messages_; }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, kind] : kinds_) all.push_back(name);
    return all;
  }

 private:
  std::map<std::string, ActorKind> kinds_;
  MessageTypes messages_;
};

}  // namespace troupe
