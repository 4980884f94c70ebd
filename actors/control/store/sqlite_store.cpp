// SPDX-License-Identifier: Apache-2.0
//
// One counter, in the table `counter`, numbers all writes: generations and revisions are its
// values, so each is larger than all before it. A lease that has ended keeps its row until the next
// owner.
#include "actors/control/store/sqlite_store.hpp"

#include "actors/control/store/sqlite_file.hpp"

#include <algorithm>

namespace troupe {
namespace {

constexpr SqliteFile::Format format = {
    0x54726f75,  // "Trou"
    1,
    "CREATE TABLE counter (value INTEGER NOT NULL);"
    "INSERT INTO counter VALUES (0);"
    "CREATE TABLE leases (name BLOB PRIMARY KEY, owner BLOB NOT NULL, generation INTEGER NOT NULL,"
    " boot BLOB NOT NULL, ends_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, revision INTEGER NOT NULL)"};

class SqliteStore final : public Store {
 public:
  SqliteStore(std::unique_ptr<SqliteFile> file, StoreClock clock)
      : file_(std::move(file)), clock_(std::move(clock)) {}

  Result<Lease> acquire(const std::string& name, const std::string& owner, Millis ttl) override {
    if (auto ok = check_lease(name, owner, ttl); !ok) return Failure(ok.error());
    return file_->transact<Lease>([&]() -> Result<Lease> {
      auto now = current(name);
      if (!now) return Failure(now.error());
      if (*now) return lease_is_held(name, **now);
      auto number = next_number();
      if (!number) return Failure(number.error());
      auto written = file_->prepare("REPLACE INTO leases VALUES (?, ?, ?, ?, ?)")
                         .bind(name)
                         .bind(owner)
                         .bind(static_cast<std::int64_t>(*number))
                         .bind(clock_.boot)
                         .bind(end_of(ttl))
                         .run();
      if (!written) return Failure(written.error());
      return Lease{name, owner, *number, ttl, 0};
    });
  }

  Result<void> renew(const Lease& lease) override {
    if (auto ok = check_lease(lease.name, lease.owner, lease.ttl); !ok) return ok;
    return file_->transact<void>([&] { return set_end(lease, end_of(lease.ttl)); });
  }

  Result<void> release(const Lease& lease) override {
    return file_->transact<void>([&] { return set_end(lease, 0); });
  }

  Result<std::optional<LeaseHolder>> holder(const std::string& name) override {
    return file_->transact<std::optional<LeaseHolder>>([&] { return current(name); });
  }

  Result<std::optional<StoreEntry>> get(const std::string& key) override {
    if (auto ok = check_store_key(key); !ok) return Failure(ok.error());
    auto select = file_->prepare("SELECT value, revision FROM entries WHERE key = ?");
    auto found = select.bind(key).row();
    if (!found) return Failure(found.error());
    if (!*found) return std::optional<StoreEntry>();
    return StoreEntry{key, select.text(0), static_cast<Revision>(select.number(1))};
  }

  Result<Revision> put(const std::string& key, const std::string& value,
                       const WriteRule& rule) override {
    if (auto ok = check_store_key(key); !ok) return Failure(ok.error());
    if (auto ok = check_store_value(key, value); !ok) return Failure(ok.error());
    return file_->transact<Revision>([&]() -> Result<Revision> {
      if (auto ok = check_rule(key, rule); !ok) return Failure(ok.error());
      auto number = next_number();
      if (!number) return number;
      auto written = file_->prepare("REPLACE INTO entries VALUES (?, ?, ?)")
                         .bind(key)
                         .bind(value)
                         .bind(static_cast<std::int64_t>(*number))
                         .run();
      if (!written) return Failure(written.error());
      return number;
    });
  }

  Result<void> erase(const std::string& key, const WriteRule& rule) override {
    if (auto ok = check_store_key(key); !ok) return ok;
    return file_->transact<void>([&]() -> Result<void> {
      if (auto ok = check_rule(key, rule); !ok) return ok;
      return file_->prepare("DELETE FROM entries WHERE key = ?").bind(key).run();
    });
  }

  Result<StorePage> list(const std::string& prefix, const std::string& after,
                         std::size_t limit) override {
    const auto size = std::min(limit, max_store_page);
    // Keys are ASCII, so no key that begins with `prefix` comes after `prefix` and one 0xff.
    auto select = file_->prepare(
        "SELECT key, value, revision FROM entries WHERE key > ? AND key >= ? AND key < ?"
        " ORDER BY key LIMIT ?");
    select.bind(after).bind(prefix).bind(prefix + "\xff").bind(static_cast<std::int64_t>(size + 1));
    StorePage page;
    for (;;) {
      auto found = select.row();
      if (!found) return Failure(found.error());
      if (!*found) return page;
      page.more = page.entries.size() == size;
      if (page.more) return page;
      page.entries.push_back(
          {select.text(0), select.text(1), static_cast<Revision>(select.number(2))});
    }
  }

 private:
  [[nodiscard]] std::int64_t now() const { return clock_.now().time_since_epoch().count(); }
  [[nodiscard]] std::int64_t end_of(Millis ttl) const { return now() + ttl.count(); }

  /// Who holds the lease now.
  Result<std::optional<LeaseHolder>> current(const std::string& name) {
    auto select = file_->prepare(
        "SELECT owner, generation FROM leases WHERE name = ? AND boot = ? AND ends_ms > ?");
    auto found = select.bind(name).bind(clock_.boot).bind(now()).row();
    if (!found) return Failure(found.error());
    if (!*found) return std::optional<LeaseHolder>();
    return LeaseHolder{select.text(0), static_cast<Generation>(select.number(1))};
  }

  Result<void> check_fence(const Fence& fence) {
    auto now = current(fence.lease);
    if (!now) return Failure(now.error());
    if (*now && (*now)->generation == fence.generation) return {};
    return lease_is_lost(fence, *now);
  }

  Result<void> set_end(const Lease& lease, std::int64_t end) {
    if (auto ok = check_fence(fence_of(lease)); !ok) return ok;
    return file_->prepare("UPDATE leases SET ends_ms = ? WHERE name = ?")
        .bind(end)
        .bind(lease.name)
        .run();
  }

  Result<void> check_rule(const std::string& key, const WriteRule& rule) {
    if (rule.fence) {
      if (auto ok = check_fence(*rule.fence); !ok) return ok;
    }
    if (!rule.revision) return {};
    auto entry = get(key);
    if (!entry) return Failure(entry.error());
    const auto found = *entry ? (*entry)->revision : 0;
    if (found != *rule.revision) return key_has_changed(key, *rule.revision, found);
    return {};
  }

  Result<std::uint64_t> next_number() {
    auto next = file_->prepare("UPDATE counter SET value = value + 1 RETURNING value");
    auto found = next.row();
    if (!found) return Failure(found.error());
    const auto number = static_cast<std::uint64_t>(next.number(0));
    if (auto done = next.run(); !done) return Failure(done.error());
    return number;
  }

  std::unique_ptr<SqliteFile> file_;
  StoreClock clock_;
};

}  // namespace

Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path,
                                                 StoreClock clock) {
  auto file = SqliteFile::open(path, format);
  if (!file) return Failure(file.error());
  return std::make_unique<SqliteStore>(std::move(*file), std::move(clock));
}

Result<std::unique_ptr<Store>> open_sqlite_store(const std::filesystem::path& path) {
  auto boot = boot_id();
  if (!boot) return Failure(boot.error());
  return open_sqlite_store(path, {std::move(*boot), &BootClock::now});
}

}  // namespace troupe
