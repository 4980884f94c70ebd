// SPDX-License-Identifier: Apache-2.0
//
// What every store promises, asked of all of them: the reference in memory, SQLite, and a real
// etcd.
#include "actors/control/store/etcd_store.hpp"
#include "actors/control/store/sqlite_store.hpp"
#include "tests/support/etcd.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <iostream>
#include <memory>

namespace troupe {
namespace {

using test::why;
constexpr Millis ttl = min_lease_ttl;

/// One store, empty, that several clients can open.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::unique_ptr<Store> open() = 0;
  /// Lets time pass, less than what a lease lives.
  virtual void wait_a_while() = 0;
  /// Lets so much time pass that a lease which nobody renews ends.
  virtual void outlive(Store& store, const std::string& lease) = 0;
};

class Simulated : public Backend {
 public:
  void wait_a_while() override { time_ += ttl * 3 / 4; }
  void outlive(Store&, const std::string&) override { time_ += ttl; }

 protected:
  BootClock::time_point time_{Millis(1000000)};
};

class InMemory final : public Simulated {
 public:
  InMemory() {
    data_->now = [this] { return time_; };
  }
  std::unique_ptr<Store> open() override { return std::make_unique<test::MemoryStore>(data_); }

 private:
  std::shared_ptr<test::MemoryStoreData> data_ = std::make_shared<test::MemoryStoreData>();
};

class InSqlite final : public Simulated {
 public:
  std::unique_ptr<Store> open() override {
    return open_sqlite_store(scratch_ / "store", {"this boot", [this] { return time_; }}).value();
  }

 private:
  test::Scratch scratch_;
};

/// One etcd for the whole program, started by the first case that needs it.
class InEtcd final : public Backend {
 public:
  InEtcd() : prefix_("/test" + std::to_string(++made_)) {
    if (!etcd_) etcd_ = std::make_unique<test::EtcdCluster>(1, true);
  }
  std::unique_ptr<Store> open() override {
    return open_etcd_store(std::make_unique<EtcdClient>(etcd_->addresses()), prefix_);
  }
  void wait_a_while() override {
    const auto until = BootClock::now() + ttl * 3 / 4;
    BOOST_TEST(test::eventually([&] { return BootClock::now() > until; }));
  }
  void outlive(Store& store, const std::string& lease) override {
    BOOST_TEST(test::eventually([&] { return !store.holder(lease).value(); }));
  }

 private:
  static inline std::unique_ptr<test::EtcdCluster> etcd_;
  static inline int made_ = 0;
  std::string prefix_;
};

struct Kind {
  std::string name;
  std::function<std::unique_ptr<Backend>()> make;

  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

std::vector<Kind> kinds() {
  std::vector<Kind> all = {{"memory", [] { return std::make_unique<InMemory>(); }},
                           {"sqlite", [] { return std::make_unique<InSqlite>(); }}};
  if (test::etcd_is_installed()) {
    all.push_back({"etcd", [] { return std::make_unique<InEtcd>(); }});
  }
  return all;
}
const auto each = boost::unit_test::data::make(kinds());

/// The code of an error that must be there.
template <class T>
ErrorCode code_of(const Result<T>& result) {
  BOOST_REQUIRE(!result);
  return result.error().code;
}

BOOST_AUTO_TEST_CASE(the_contract_is_asked_of_etcd_too, *test::if_etcd()) {
  BOOST_TEST(kinds().size() == 3);
}

BOOST_DATA_TEST_CASE(a_lease_has_one_owner_at_a_time, each, kind) {
  const auto backend = kind.make();
  auto one = backend->open();
  auto other = backend->open();
  BOOST_TEST(!one->holder("singleton").value());
  const auto lease = one->acquire("singleton", "a/1", ttl).value();
  BOOST_TEST(lease.generation > 0);
  BOOST_CHECK((other->holder("singleton").value() == LeaseHolder{"a/1", lease.generation}));

  const auto refused = other->acquire("singleton", "b/1", ttl);
  BOOST_CHECK(code_of(refused) == ErrorCode::already_exists);
  BOOST_TEST(refused.error().what.find("held by a/1") != std::string::npos, why(refused));
  BOOST_CHECK(code_of(one->acquire("singleton", "a/1", ttl)) == ErrorCode::already_exists);
  BOOST_TEST(other->acquire("another", "b/1", ttl).has_value());
}

BOOST_DATA_TEST_CASE(generations_grow_with_each_owner, each, kind) {
  const auto backend = kind.make();
  auto one = backend->open();
  auto other = backend->open();
  Generation last = 0;
  for (const bool released : {true, false, true, true}) {
    const auto lease = one->acquire("singleton", "a/1", ttl);
    BOOST_REQUIRE_MESSAGE(lease, why(lease));
    BOOST_TEST(lease->generation > last);
    last = lease->generation;
    if (released) BOOST_TEST(one->release(*lease).has_value());
    if (!released) backend->outlive(*one, "singleton");
    std::swap(one, other);
  }
}

BOOST_DATA_TEST_CASE(a_former_holder_cannot_write, each, kind) {
  const auto backend = kind.make();
  auto one = backend->open();
  auto other = backend->open();
  const auto old = one->acquire("singleton", "a/1", ttl).value();
  const WriteRule as_old{.revision = {}, .fence = fence_of(old)};
  BOOST_TEST(one->put("key", "by a", as_old).has_value());

  backend->outlive(*one, "singleton");
  const auto expired = one->put("key", "late", as_old);
  BOOST_CHECK(code_of(expired) == ErrorCode::aborted);
  BOOST_TEST(expired.error().what.find("nobody holds it") != std::string::npos, why(expired));

  const auto lease = other->acquire("singleton", "b/1", ttl).value();
  const auto replaced = one->put("key", "late", as_old);
  BOOST_CHECK(code_of(replaced) == ErrorCode::aborted);
  BOOST_TEST(replaced.error().what.find("b/1 holds it") != std::string::npos, why(replaced));
  BOOST_CHECK(code_of(one->erase("key", as_old)) == ErrorCode::aborted);
  BOOST_TEST(one->get("key").value()->value == "by a");

  const WriteRule as_new{.revision = {}, .fence = fence_of(lease)};
  BOOST_TEST(other->put("key", "by b", as_new).has_value());
  BOOST_TEST(other->release(lease).has_value());
  BOOST_CHECK(code_of(other->put("key", "late", as_new)) == ErrorCode::aborted);
  BOOST_CHECK(code_of(other->put("key", "x", {.revision = {}, .fence = Fence{"unknown", 1}})) ==
              ErrorCode::aborted);
  BOOST_TEST(one->get("key").value()->value == "by b");
}

BOOST_DATA_TEST_CASE(a_lease_lives_as_long_as_it_is_renewed, each, kind) {
  const auto backend = kind.make();
  auto store = backend->open();
  const auto lease = store->acquire("singleton", "a/1", ttl).value();
  for (int i = 0; i < 3; ++i) {
    backend->wait_a_while();
    const auto renewed = store->renew(lease);
    BOOST_TEST(renewed.has_value(), why(renewed));
  }
  BOOST_CHECK((store->holder("singleton").value() == LeaseHolder{"a/1", lease.generation}));
}

BOOST_DATA_TEST_CASE(what_has_ended_is_not_renewed, each, kind) {
  const auto backend = kind.make();
  auto store = backend->open();
  const auto expired = store->acquire("singleton", "a/1", ttl).value();
  backend->outlive(*store, "singleton");
  BOOST_CHECK(code_of(store->renew(expired)) == ErrorCode::aborted);
  BOOST_CHECK(code_of(store->release(expired)) == ErrorCode::aborted);

  const auto released = store->acquire("singleton", "a/1", ttl).value();
  BOOST_TEST(store->release(released).has_value());
  BOOST_CHECK(code_of(store->renew(released)) == ErrorCode::aborted);

  const auto next = store->acquire("singleton", "b/1", ttl).value();
  BOOST_CHECK(code_of(store->renew(released)) == ErrorCode::aborted);
  BOOST_CHECK(code_of(store->release(expired)) == ErrorCode::aborted);
  BOOST_TEST(store->renew(next).has_value());
}

BOOST_DATA_TEST_CASE(a_release_frees_at_once, each, kind) {
  const auto backend = kind.make();
  auto one = backend->open();
  auto other = backend->open();
  const auto lease = one->acquire("singleton", "a/1", Millis(3600000)).value();
  BOOST_TEST(one->release(lease).has_value());
  BOOST_TEST(!other->holder("singleton").value());
  BOOST_TEST(other->acquire("singleton", "b/1", ttl).has_value());
}

BOOST_DATA_TEST_CASE(a_write_can_be_tied_to_a_revision, each, kind) {
  const auto backend = kind.make();
  auto one = backend->open();
  auto other = backend->open();
  const auto at = [](Revision revision) { return WriteRule{.revision = revision, .fence = {}}; };
  BOOST_TEST(!one->get("key").value());
  const auto first = one->put("key", "1", at(0)).value();
  BOOST_CHECK(code_of(other->put("key", "2", at(0))) == ErrorCode::already_exists);
  const auto second = other->put("key", "2", at(first)).value();
  BOOST_TEST(second > first);
  const auto late = one->put("key", "3", at(first));
  BOOST_CHECK(code_of(late) == ErrorCode::already_exists);
  BOOST_TEST(late.error().what.find("revision " + std::to_string(second)) != std::string::npos,
             why(late));
  BOOST_CHECK(code_of(one->erase("key", at(first))) == ErrorCode::already_exists);
  BOOST_CHECK((one->get("key").value() == StoreEntry{"key", "2", second}));
  BOOST_TEST(one->erase("key", at(second)).has_value());
  BOOST_TEST(!one->get("key").value());
  BOOST_TEST(one->erase("key", {}).has_value());
  BOOST_CHECK(code_of(one->erase("key", at(second))) == ErrorCode::already_exists);
  BOOST_TEST(one->put("key", "4", {}).value() > second);
}

BOOST_DATA_TEST_CASE(keys_are_listed_by_prefix_and_page, each, kind) {
  const auto backend = kind.make();
  auto store = backend->open();
  std::vector<std::string> wanted;
  for (int i = 100; i < 150; ++i) {
    wanted.push_back("jobs/" + std::to_string(i));
    BOOST_TEST(store->put(wanted.back(), "job", {}).has_value());
  }
  for (const auto* key : {"job", "jobs", "jobs.", "jobs0", "jobz"}) {
    BOOST_TEST(store->put(key, "no job", {}).has_value());
  }
  std::vector<std::string> found;
  std::vector<std::size_t> pages;
  for (StorePage page{{}, true}; page.more;) {
    page = store->list("jobs/", found.empty() ? "" : found.back(), 20).value();
    pages.push_back(page.entries.size());
    for (const auto& entry : page.entries) {
      BOOST_TEST(entry.value == "job");
      BOOST_TEST(entry.revision > 0);
      found.push_back(entry.key);
    }
  }
  BOOST_TEST(found == wanted);
  BOOST_TEST(pages == (std::vector<std::size_t>{20, 20, 10}));
  BOOST_TEST(store->list("jobs/", "", 1000).value().entries.size() == max_store_page);
  BOOST_TEST(store->list("", "", 3).value().entries.front().key == "job");
  BOOST_TEST(store->list("nothing/", "", 20).value().entries.empty());
  BOOST_TEST(!store->list("jobs/", "jobs/129", 20).value().more);
}

BOOST_DATA_TEST_CASE(values_are_any_bytes_up_to_one_mebibyte, each, kind) {
  const auto backend = kind.make();
  auto store = backend->open();
  std::string large(max_store_value, ' ');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 31 + i / 256);
  BOOST_TEST(store->put("large", large, {}).has_value());
  BOOST_CHECK(store->get("large").value()->value == large);
  const auto refused = store->put("large", large + '!', {});
  BOOST_CHECK(code_of(refused) == ErrorCode::invalid_argument);
  BOOST_TEST(refused.error().what.find("at most 1048576") != std::string::npos, why(refused));
  BOOST_TEST(store->put("empty", "", {}).has_value());
  BOOST_TEST(store->get("empty").value()->value.empty());
}

BOOST_DATA_TEST_CASE(names_and_times_that_no_store_takes_are_refused, each, kind) {
  const auto backend = kind.make();
  auto store = backend->open();
  for (const auto& name : {std::string(), std::string("a b"), std::string("a\n"), std::string("ä"),
                           std::string(513, 'x')}) {
    BOOST_CHECK(code_of(store->acquire(name, "a/1", ttl)) == ErrorCode::invalid_argument);
    BOOST_CHECK(code_of(store->acquire("singleton", name, ttl)) == ErrorCode::invalid_argument);
    BOOST_CHECK(code_of(store->put(name, "", {})) == ErrorCode::invalid_argument);
    BOOST_CHECK(code_of(store->get(name)) == ErrorCode::invalid_argument);
    BOOST_CHECK(code_of(store->erase(name, {})) == ErrorCode::invalid_argument);
  }
  for (const auto time : {Millis(0), Millis(-5), Millis(999), Millis(3600001)}) {
    BOOST_CHECK(code_of(store->acquire("singleton", "a/1", time)) == ErrorCode::invalid_argument);
  }
  BOOST_TEST(store->put(std::string(512, 'x'), "", {}).has_value());
}

}  // namespace
}  // namespace troupe
