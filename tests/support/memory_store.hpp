// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/base/boot_clock.hpp"
#include "actors/core/lease.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace troupe::test {

/// What the stores of one simulated cluster share: the reference that the real ones are compared
/// with. Time is the test's.
struct MemoryStoreData {
  struct Held {
    LeaseHolder holder;
    BootClock::time_point ends;
  };
  std::mutex mutex;
  std::function<BootClock::time_point()> now = &BootClock::now;
  std::map<std::string, Held> leases;
  std::map<std::string, StoreEntry> entries;
  std::uint64_t counter = 0;
  bool reachable = true;  ///< false: every call is `unavailable`
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(std::shared_ptr<MemoryStoreData> data) : data_(std::move(data)) {}

  Result<Lease> acquire(const std::string& name, const std::string& owner, Millis ttl) override {
    if (auto ok = check_lease(name, owner, ttl); !ok) return Failure(ok.error());
    return locked<Lease>([&](MemoryStoreData& data) -> Result<Lease> {
      if (const auto by = current(data, name)) return lease_is_held(name, *by);
      const auto generation = ++data.counter;
      data.leases[name] = {{owner, generation}, data.now() + ttl};
      return Lease{name, owner, generation, ttl, 0};
    });
  }

  Result<void> renew(const Lease& lease) override {
    return set_end(lease, [&](MemoryStoreData& data) { return data.now() + lease.ttl; });
  }
  Result<void> release(const Lease& lease) override {
    return set_end(lease, [](MemoryStoreData&) { return BootClock::time_point::min(); });
  }

  Result<std::optional<LeaseHolder>> holder(const std::string& name) override {
    return locked<std::optional<LeaseHolder>>(
        [&](MemoryStoreData& data) { return current(data, name); });
  }

  Result<std::optional<StoreEntry>> get(const std::string& key) override {
    if (auto ok = check_store_key(key); !ok) return Failure(ok.error());
    return locked<std::optional<StoreEntry>>(
        [&](MemoryStoreData& data) -> Result<std::optional<StoreEntry>> {
          const auto it = data.entries.find(key);
          if (it == data.entries.end()) return std::optional<StoreEntry>();
          return it->second;
        });
  }

  Result<Revision> put(const std::string& key, const std::string& value,
                       const WriteRule& rule) override {
    if (auto ok = check_store_key(key); !ok) return Failure(ok.error());
    if (auto ok = check_store_value(key, value); !ok) return Failure(ok.error());
    return locked<Revision>([&](MemoryStoreData& data) -> Result<Revision> {
      if (auto ok = check_rule(data, key, rule); !ok) return Failure(ok.error());
      data.entries[key] = {key, value, ++data.counter};
      return data.counter;
    });
  }

  Result<void> erase(const std::string& key, const WriteRule& rule) override {
    if (auto ok = check_store_key(key); !ok) return ok;
    return locked<void>([&](MemoryStoreData& data) -> Result<void> {
      if (auto ok = check_rule(data, key, rule); !ok) return ok;
      data.entries.erase(key);
      return {};
    });
  }

  Result<StorePage> list(const std::string& prefix, const std::string& after,
                         std::size_t limit) override {
    return locked<StorePage>([&](MemoryStoreData& data) -> Result<StorePage> {
      const auto size = std::min(limit, max_store_page);
      StorePage page;
      for (const auto& [key, entry] : data.entries) {
        if (!key.starts_with(prefix) || key <= after) continue;
        page.more = page.entries.size() == size;
        if (page.more) break;
        page.entries.push_back(entry);
      }
      return page;
    });
  }

 private:
  template <class T>
  Result<T> locked(const std::function<Result<T>(MemoryStoreData&)>& work) {
    const std::lock_guard lock(data_->mutex);
    if (!data_->reachable) return fail(ErrorCode::unavailable, "the store cannot be reached");
    return work(*data_);
  }

  static std::optional<LeaseHolder> current(MemoryStoreData& data, const std::string& name) {
    const auto it = data.leases.find(name);
    if (it == data.leases.end() || it->second.ends <= data.now()) return {};
    return it->second.holder;
  }

  static Result<void> check_fence(MemoryStoreData& data, const Fence& fence) {
    const auto now = current(data, fence.lease);
    if (now && now->generation == fence.generation) return {};
    return lease_is_lost(fence, now);
  }

  static Result<void> check_rule(MemoryStoreData& data, const std::string& key,
                                 const WriteRule& rule) {
    if (rule.fence) {
      if (auto ok = check_fence(data, *rule.fence); !ok) return ok;
    }
    const auto it = data.entries.find(key);
    const auto found = it == data.entries.end() ? 0 : it->second.revision;
    if (rule.revision && *rule.revision != found) {
      return key_has_changed(key, *rule.revision, found);
    }
    return {};
  }

  template <class End>
  Result<void> set_end(const Lease& lease, End end) {
    return locked<void>([&](MemoryStoreData& data) -> Result<void> {
      if (auto ok = check_fence(data, fence_of(lease)); !ok) return ok;
      data.leases[lease.name].ends = end(data);
      return {};
    });
  }

  std::shared_ptr<MemoryStoreData> data_;
};

}  // namespace troupe::test
