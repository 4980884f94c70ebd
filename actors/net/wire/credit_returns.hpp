// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/net/wire/credits.hpp"
#include "messages/frame.hpp"
#include "messages/ids.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace troupe {

/// The receiving side of the credits: frames that were delivered are done with when nobody holds
/// their bytes any more, on whichever thread that is. Its functions are for the transport's thread;
/// the frames' bytes may be let go anywhere, also after this object.
class CreditReturns : public std::enable_shared_from_this<CreditReturns> {
 public:
  using Key = std::pair<NodeId, ActorNumber>;

  /// `due` is called, from any thread, when there is something to collect.
  CreditReturns(CreditWindow window, std::function<void()> due)
      : window_(window), due_(std::move(due)) {}

  /// Makes the bytes of those frames that need credit report their end for (`from`, their target).
  /// False: the peer sends far more than its window allows.
  [[nodiscard]] bool watch(const NodeId& from, std::span<Frame> frames);
  /// What is to be given back now: whatever has come to half a window, and small change of targets
  /// that are not used any more, where there are many.
  [[nodiscard]] std::vector<std::pair<Key, Amount>> collect();
  /// Nothing more is reported to this peer.
  void forget(const NodeId& peer);
  /// The transport is gone: nobody collects.
  void close();
  /// How many of a peer's targets there are accounts for.
  [[nodiscard]] std::size_t accounts(const NodeId& peer) const;

 private:
  struct Account;
  struct Peer;
  struct Batch;
  struct Held;
  template <class T>
  struct BatchAllocator;

  Peer& peer(const NodeId& id);
  /// Counts a frame in; false: too much is held.
  [[nodiscard]] bool take(Account& account, std::size_t size) const;
  void done(const std::shared_ptr<Peer>& peer, Account& account, ActorNumber target,
            std::size_t size);
  static void settle(Peer& peer, std::vector<std::pair<Key, Amount>>& into);

  CreditWindow window_;
  std::unordered_map<NodeId, std::shared_ptr<Peer>> peers_;
  std::shared_ptr<Peer> last_;  ///< the one that was used last
  std::mutex mutex_;            ///< guards what follows
  bool closed_ = false;
  std::function<void()> due_;
  std::vector<std::pair<std::shared_ptr<Peer>, ActorNumber>> ready_;
  std::atomic<bool> any_ready_{false};  ///< saves a lock where there is none
};

}  // namespace troupe
