// SPDX-License-Identifier: Apache-2.0
//
// The frames of one active message form a batch: one piece of memory that has a small object for
// each frame, and that keeps the buffers in which they came. The object's end counts the frame as
// done with in the account of its target; the last one takes the batch with it. An account has two
// sides, each written by one side only and never reset, so that neither needs a lock: what the
// transport's thread has taken in, and what has been let go since.
#include "actors/net/wire/credit_returns.hpp"

#include "actors/base/assert.hpp"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <new>

namespace troupe {

struct CreditReturns::Account {
  Amount taken;  ///< of the transport's thread, as are the next two
  Amount seen;   ///< of what is done, when it looked last
  Amount given_back;
  alignas(64) std::atomic<std::uint64_t> done_bytes{0};
  std::atomic<std::uint64_t> done_messages{0};  ///< counted last: nobody uses the account after

  void look() {
    seen.messages = done_messages.load(std::memory_order_acquire);
    seen.bytes = done_bytes.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool settled() const { return seen.messages == taken.messages; }
  /// What was done with since the last time.
  [[nodiscard]] Amount give_back() {
    look();
    const Amount amount{seen.messages - given_back.messages, seen.bytes - given_back.bytes};
    given_back = seen;
    return amount;
  }
};

/// What one peer has sent. The accounts are the transport's thread's.
struct CreditReturns::Peer {
  explicit Peer(NodeId peer) : id(std::move(peer)) {}

  Account& account(ActorNumber target) {
    if (last == nullptr || last->first != target) last = &*accounts.try_emplace(target).first;
    return last->second;
  }

  using Accounts = std::unordered_map<ActorNumber, Account>;

  NodeId id;
  Accounts accounts;
  Accounts::value_type* last = nullptr;  ///< the one that was used last
  std::size_t settle_at = 1024;          ///< so many: those that are settled should go
};

struct CreditReturns::Batch {
  static constexpr std::size_t slot = 64;  // for one frame's object

  /// Memory for `frames` of them.
  static Batch* make(std::shared_ptr<CreditReturns> returns, std::shared_ptr<Peer> peer,
                     std::size_t frames) {
    auto* memory = ::operator new (slots_at() + frames * slot, std::align_val_t{slot});
    return new (memory) Batch{std::move(returns), std::move(peer), {}, {frames}, frames, 0};
  }
  static std::size_t slots_at() { return (sizeof(Batch) + slot - 1) / slot * slot; }

  void* take() {
    TROUPE_ASSERT(used < frames);
    return reinterpret_cast<std::byte*>(this) + slots_at() + used++ * slot;
  }
  void release() {
    if (left.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    this->~Batch();
    ::operator delete (this, std::align_val_t{slot});
  }
  /// Takes over what keeps the bytes; the frames of a batch mostly share it.
  void keep(const Slice& bytes) {
    if (bytes.owner() == nullptr) return;
    if (!owners.empty() && owners.back() == bytes.owner()) return;
    owners.push_back(bytes.owner());
  }

  std::shared_ptr<CreditReturns> returns;
  std::shared_ptr<Peer> peer;
  std::vector<std::shared_ptr<const void>> owners;
  std::atomic<std::size_t> left;
  std::size_t frames;
  std::size_t used;
};

/// What a delivered frame's bytes hang on.
struct CreditReturns::Held {
  Held(Batch& of, Account& counted_in, ActorNumber to, std::size_t bytes)
      : batch(&of), account(&counted_in), target(to), size(bytes) {}
  Held(const Held&) = delete;
  ~Held() { batch->returns->done(batch->peer, *account, target, size); }

  Batch* batch;
  Account* account;
  ActorNumber target;
  std::size_t size;
};

/// Gives one slot of a batch.
template <class T>
struct CreditReturns::BatchAllocator {
  using value_type = T;

  explicit BatchAllocator(Batch& from) : batch(&from) {}
  template <class U>
  BatchAllocator(const BatchAllocator<U>& other) : batch(other.batch) {}

  T* allocate(std::size_t count) {
    static_assert(sizeof(T) <= Batch::slot);
    TROUPE_ASSERT(count == 1);
    return static_cast<T*>(batch->take());
  }
  void deallocate(T*, std::size_t) { batch->release(); }
  bool operator==(const BatchAllocator&) const = default;

  Batch* batch;
};

CreditReturns::Peer& CreditReturns::peer(const NodeId& id) {
  if (last_ == nullptr || last_->id != id) {
    auto& known = peers_[id];
    if (known == nullptr) known = std::make_shared<Peer>(id);
    last_ = known;
  }
  return *last_;
}

bool CreditReturns::take(Account& account, std::size_t size) const {
  ++account.taken.messages;
  account.taken.bytes += size;
  // What was given back and is still on its way to the sender counts twice for a while.
  const auto good = [&] {
    return account.taken.messages - account.seen.messages <= 2 * window_.messages &&
           account.taken.bytes - account.seen.bytes <=
               2 * window_.bytes + max_blob_bytes + max_body_bytes;
  };
  if (good()) return true;
  account.look();
  return good();
}

bool CreditReturns::watch(const NodeId& from, std::span<Frame> frames) {
  const auto count = static_cast<std::size_t>(std::count_if(
      frames.begin(), frames.end(), [](const Frame& frame) { return needs_credit(frame.header); }));
  if (count == 0) return true;
  auto& sender = peer(from);
  auto* batch = Batch::make(shared_from_this(), last_, count);
  bool good = true;
  for (auto& frame : frames) {
    if (!needs_credit(frame.header)) continue;
    const auto target = frame.header.target;
    auto& account = sender.account(target);
    good = take(account, frame.size()) && good;
    batch->keep(frame.body);
    batch->keep(frame.blob);
    std::shared_ptr<const void> held = std::allocate_shared<Held>(
        BatchAllocator<Held>(*batch), *batch, account, target, frame.size());
    if (!frame.blob.empty()) frame.blob = Slice(held, frame.blob.bytes());
    frame.body = Slice(std::move(held), frame.body.bytes());
  }
  return good;
}

void CreditReturns::done(const std::shared_ptr<Peer>& peer, Account& account, ActorNumber target,
                         std::size_t size) {
  const auto passes = [](std::uint64_t before, std::uint64_t more, std::uint64_t window) {
    const auto half = (window + 1) / 2;
    return before / half != (before + more) / half;
  };
  const auto bytes = account.done_bytes.fetch_add(size, std::memory_order_relaxed);
  const auto messages = account.done_messages.fetch_add(1, std::memory_order_release);
  if (!passes(bytes, size, window_.bytes) && !passes(messages, 1, window_.messages)) return;
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  ready_.emplace_back(peer, target);
  any_ready_ = true;
  if (due_) due_();
}

void CreditReturns::settle(Peer& peer, std::vector<std::pair<Key, Amount>>& into) {
  for (auto it = peer.accounts.begin(); it != peer.accounts.end();) {
    const auto amount = it->second.give_back();
    if (amount.messages > 0) into.emplace_back(Key{peer.id, it->first}, amount);
    it = it->second.settled() ? peer.accounts.erase(it) : std::next(it);
  }
  peer.last = nullptr;
  peer.settle_at = std::max<std::size_t>(1024, 2 * peer.accounts.size());
}

std::vector<std::pair<CreditReturns::Key, Amount>> CreditReturns::collect() {
  std::vector<std::pair<std::shared_ptr<Peer>, ActorNumber>> ready;
  if (any_ready_) {
    const std::lock_guard lock(mutex_);
    any_ready_ = false;
    ready.swap(ready_);
  }
  std::vector<std::pair<Key, Amount>> result;
  for (const auto& [peer, target] : ready) {
    const auto known = peers_.find(peer->id);
    if (known == peers_.end() || known->second != peer) continue;
    const auto account = peer->accounts.find(target);
    if (account == peer->accounts.end()) continue;
    const auto amount = account->second.give_back();
    if (amount.messages > 0) result.emplace_back(Key{peer->id, target}, amount);
  }
  for (const auto& [id, peer] : peers_) {
    if (peer->accounts.size() >= peer->settle_at) settle(*peer, result);
  }
  return result;
}

void CreditReturns::forget(const NodeId& peer) {
  peers_.erase(peer);
  last_ = nullptr;
}

void CreditReturns::close() {
  peers_.clear();
  last_ = nullptr;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.clear();
}

std::size_t CreditReturns::accounts(const NodeId& peer) const {
  const auto it = peers_.find(peer);
  return it == peers_.end() ? 0 : it->second->accounts.size();
}

}  // namespace troupe
