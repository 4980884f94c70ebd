// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// An actor that is to live: what is known of it before it does.
struct ActorSeat {
  std::string path;        ///< "/jobs/digits/trainers/0"
  std::string kind;        ///< "easyscale.trainer"
  std::string supervisor;  ///< path of who starts it again; empty: nobody does
  std::string restart;     ///< "permanent", "transient", "temporary"; empty: never
};

/// One life of an actor.
struct ActorLife {
  std::string path;
  ActorRef actor;
  ActorRef owner;  ///< who ends it when told EndChild: its supervisor
  int pid = 0;     ///< of its process on this host; 0: not known
};

/// Hears from supervisors what becomes of their actors, for those who look at a node from outside.
/// Called from any thread; returns at once.
class ActorObserver {
 public:
  virtual ~ActorObserver() = default;

  /// It will be started; a supervisor's own seat comes before those of its children.
  virtual void expect(const ActorSeat& seat) = 0;
  virtual void up(const ActorLife& life) = 0;
  /// `comes_back`: its supervisor starts it again.
  virtual void down(const std::string& path, const Error& why, bool comes_back) = 0;
  /// It cannot go on without `what` (what, and where); empty: it goes on.
  virtual void waiting(const std::string& path, const std::string& what) = 0;
};

/// Asks a supervisor (ActorLife::owner, on its own node) to end a child, as somebody at a terminal
/// wishes. Without `stop` the child's life is ended at once, whatever it is doing, and counts as
/// failed; with `stop` it is asked to end by itself, which counts as a normal end. What happens
/// then is decided by its `restart`.
struct EndChild {
  using actor_message = void;
  std::string path;
  std::string why;
  bool stop = false;
  std::uint64_t trace = 0;  ///< the request that this belongs to, for the log
};

}  // namespace troupe
