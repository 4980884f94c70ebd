// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/core/actor_message.hpp"
#include "actors/core/membership/member.hpp"
#include "messages/result.hpp"

#include <caf/actor.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace troupe {

class ActorKinds;
class Node;

/// What those who watch the membership are told, as local messages: a member has come, its state
/// has changed, or it says other things of itself. This node is a member too.
struct MemberChanged {
  using actor_message = void;
  Member member;
};

/// This incarnation of the node is over. aborted: it was declared dead, and may go on as a new one;
/// already_exists: another node has its name.
struct IncarnationOver {
  using actor_message = void;
  Error why;
};

/// Who belongs to the cluster, as this node sees it: one per node, and owned by it. An actor with a
/// thread of its own does the work, so that busy handlers elsewhere do not make this node look dead
/// or others look dead to it. Public calls are safe from any thread.
class Membership {
 public:
  /// `joining`: the node is about to join others. `seeds`: where members may listen; they are
  /// called until they answer.
  Membership(Node& node, NodeOffer offer, bool joining, const std::vector<Address>& seeds);
  ~Membership();
  Membership(const Membership&) = delete;

  /// All that are or lately were members, this node first.
  [[nodiscard]] std::vector<Member> members() const;
  /// `watcher` gets MemberChanged, also for all that are known already, and IncarnationOver.
  void watch(const caf::actor& watcher);
  /// This node is about to end: its state is leaving from now on, and the others are told. Waits
  /// until that is on its way.
  void leave();

 private:
  struct Snapshot {
    mutable std::mutex mutex;
    std::vector<Member> members;
  };
  struct Work;

  std::shared_ptr<Snapshot> snapshot_ = std::make_shared<Snapshot>();
  Node& node_;
  caf::actor actor_;
};

/// The messages by which members speak with each other.
void register_membership_messages(ActorKinds& kinds);

}  // namespace troupe
