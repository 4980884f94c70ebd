// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"
#include "messages/units.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Who may act: leases, and the keys and values that only the holder of a lease may write.
//
// A lease is a name that has one owner at a time, for `ttl`, again and again as long as it renews.
// Every acquisition of a name gets a generation that is larger than all before it, so whoever comes
// too late is recognised. The store lets nobody else in before `ttl` has passed since it received
// the last renewal; a holder that counts `ttl` from BEFORE it sent the renewal is therefore always
// the first of the two to see it end (LeaseKeeper does that).

namespace troupe {

/// Grows with each acquisition of a lease; 0: never held.
using Generation = std::uint64_t;
/// Grows with each write of a key; 0: the key is not there.
using Revision = std::uint64_t;

constexpr std::size_t max_store_key = 512;
constexpr std::size_t max_store_value = std::size_t{1} << 20;
constexpr std::size_t max_store_page = 32;
constexpr Millis min_lease_ttl{1000};
constexpr Millis max_lease_ttl{3600000};
constexpr Millis default_lease_ttl{10000};

/// A lease as its holder got it.
struct Lease {
  std::string name;
  std::string owner;
  Generation generation = 0;
  Millis ttl{0};
  std::uint64_t token = 0;  ///< the store's own number for it

  friend bool operator==(const Lease&, const Lease&) = default;
};

struct LeaseHolder {
  std::string owner;
  Generation generation = 0;

  friend bool operator==(const LeaseHolder&, const LeaseHolder&) = default;
};

/// "Only while this lease is held in this generation."
struct Fence {
  std::string lease;
  Generation generation = 0;

  friend bool operator==(const Fence&, const Fence&) = default;
};

[[nodiscard]] inline Fence fence_of(const Lease& lease) { return {lease.name, lease.generation}; }

struct StoreEntry {
  std::string key;
  std::string value;
  Revision revision = 0;

  friend bool operator==(const StoreEntry&, const StoreEntry&) = default;
};

struct StorePage {
  std::vector<StoreEntry> entries;  ///< in the order of their keys
  bool more = false;                ///< go on after the last of them
};

/// When a write is allowed; without either, always.
struct WriteRule {
  std::optional<Revision> revision;  ///< the key is unchanged since; 0: it is not there
  std::optional<Fence> fence;        ///< the writer still holds its lease
};

/// Leases and a small ordered map that outlives the processes which use it. Values are at most
/// 1 MiB. Calls block, each for a limited time, so they belong into a detached actor; a Store may
/// be used by one thread at a time.
///
/// Errors: `already_exists`, somebody else was first (the lease is held, the key has changed);
/// `aborted`, the lease is not held any more; `invalid_argument`, a name, value or time that no
/// store takes; `unavailable` and `timeout`, the store gave no answer, and a write may or may not
/// have happened.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  /// Takes a lease that nobody holds. Whoever holds it already is refused like everybody else.
  [[nodiscard]] virtual Result<Lease> acquire(const std::string& name, const std::string& owner,
                                              Millis ttl) = 0;
  /// Another `ttl` from now on.
  [[nodiscard]] virtual Result<void> renew(const Lease& lease) = 0;
  /// Gives it back at once. A lease that has expired meanwhile is `aborted` and left as it is.
  [[nodiscard]] virtual Result<void> release(const Lease& lease) = 0;
  [[nodiscard]] virtual Result<std::optional<LeaseHolder>> holder(const std::string& name) = 0;

  [[nodiscard]] virtual Result<std::optional<StoreEntry>> get(const std::string& key) = 0;
  [[nodiscard]] virtual Result<Revision> put(const std::string& key, const std::string& value,
                                             const WriteRule& rule) = 0;
  /// A key that is not there is no error, unless `rule` says which revision it has.
  [[nodiscard]] virtual Result<void> erase(const std::string& key, const WriteRule& rule) = 0;
  /// The keys that begin with `prefix` and come after `after`; at most `limit` of them and never
  /// more than max_store_page.
  [[nodiscard]] virtual Result<StorePage> list(const std::string& prefix, const std::string& after,
                                               std::size_t limit) = 0;
};

// What every store checks before it does anything.

/// Keys and the names of leases: 1 to 512 printable ASCII characters without blanks.
[[nodiscard]] Result<void> check_store_key(std::string_view key);
[[nodiscard]] Result<void> check_store_value(std::string_view key, std::string_view value);
[[nodiscard]] Result<void> check_lease(std::string_view name, std::string_view owner, Millis ttl);

// What every store says when it refuses.

[[nodiscard]] Failure lease_is_held(const std::string& name, const LeaseHolder& by);
[[nodiscard]] Failure lease_is_lost(const Fence& fence, const std::optional<LeaseHolder>& now);
[[nodiscard]] Failure key_has_changed(const std::string& key, Revision expected, Revision found);

}  // namespace troupe
