// SPDX-License-Identifier: Apache-2.0
#include "actors/net/bulk/bulk_store.hpp"

#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

namespace troupe {
namespace {

using test::eventually;

std::shared_ptr<std::vector<std::byte>> memory_of(std::size_t size) {
  return std::make_shared<std::vector<std::byte>>(size);
}

BOOST_AUTO_TEST_CASE(memory_is_kept_until_it_is_withdrawn) {
  const auto store = BulkStore::make().value();
  auto memory = memory_of(100);
  const std::weak_ptr<void> alive = memory;
  const auto ref = store->expose(Slice(memory, *memory)).value();
  memory.reset();
  BOOST_TEST(!alive.expired());
  BOOST_TEST(store->find(ref.slot, ref.key, false)->bytes.size() == 100u);
  BOOST_TEST(store->withdraw(ref));
  BOOST_TEST(alive.expired());
  BOOST_TEST(!store->withdraw(ref));
  BOOST_TEST(store->size() == 0u);
}

BOOST_AUTO_TEST_CASE(memory_goes_when_its_lease_runs_out) {
  const auto store = BulkStore::make().value();
  auto memory = memory_of(100);
  const std::weak_ptr<void> alive = memory;
  const auto ref = store->expose(Slice(memory, *memory), Millis(20)).value();
  const auto other = store->expose(Slice(memory, *memory), Millis(600000)).value();
  memory.reset();
  BOOST_TEST(eventually([&] { return !store->find(ref.slot, ref.key, false); }));
  BOOST_TEST(!store->renew(ref, Millis(1000)));
  BOOST_TEST(store->find(other.slot, other.key, false).has_value());
  BOOST_TEST(store->renew(other, Millis(1)));
  BOOST_TEST(eventually([&] { return alive.expired(); }));
}

BOOST_AUTO_TEST_CASE(a_lease_that_is_taken_back_does_not_run_out) {
  const auto store = BulkStore::make().value();
  const auto memory = memory_of(8);
  const auto lasting = store->expose(Slice(memory, *memory), Millis(50)).value();
  BOOST_TEST(store->renew(lasting, std::nullopt));
  const auto later = store->expose(Slice(memory, *memory), Millis(100)).value();
  BOOST_TEST(eventually([&] { return !store->find(later.slot, later.key, false); }));
  BOOST_TEST(store->find(lasting.slot, lasting.key, false).has_value());
}

BOOST_AUTO_TEST_CASE(keys_are_never_the_same) {
  const auto store = BulkStore::make().value();
  std::set<std::uint64_t> keys;
  const auto memory = memory_of(8);
  for (int i = 0; i < 1000; ++i) {
    const auto ref = store->expose(Slice(memory, *memory)).value();
    BOOST_TEST(keys.insert(ref.key).second);
    if (i % 2 == 0) BOOST_TEST(store->withdraw(ref));
  }
  BOOST_TEST(store->size() == 500u);
}

BOOST_AUTO_TEST_CASE(there_is_room_for_a_known_number_of_exposures) {
  const auto store = BulkStore::make().value();
  const auto memory = memory_of(8);
  BulkRef last;
  for (std::uint32_t i = 0; i < ExposureTable::slot_count; ++i) {
    last = store->expose(Slice(memory, *memory)).value();
  }
  const auto more = store->expose(Slice(memory, *memory));
  BOOST_REQUIRE(!more);
  BOOST_CHECK(more.error().code == ErrorCode::resource_exhausted);
  BOOST_TEST(store->withdraw(last));
  BOOST_TEST(store->expose(Slice(memory, *memory)).has_value());
}

BOOST_AUTO_TEST_CASE(only_a_memory_file_that_is_long_enough_can_be_exposed) {
  const auto store = BulkStore::make().value();
  const auto file = make_bulk_file("test", 10000).value();
  BOOST_TEST(store->expose_file(file.get(), {0, 10000}, false).has_value());
  BOOST_TEST(store->expose_file(file.get(), {5000, 5000}, true).has_value());
  BOOST_TEST(!store->expose_file(file.get(), {0, 10001}, false));
  BOOST_TEST(!store->expose_file(file.get(), {10000, 1}, false));
  BOOST_TEST(!store->expose_file(file.get(), {~std::uint64_t{0}, 2}, false));
  BOOST_TEST(!store->expose_file(0, {0, 1}, false));
  const Fd unsealable(::memfd_create("test", MFD_CLOEXEC));
  BOOST_REQUIRE(::ftruncate(unsealable.get(), 4096) == 0);
  const auto refused = store->expose_file(unsealable.get(), {0, 4096}, false);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().what.find("MFD_ALLOW_SEALING") != std::string::npos);
  // What was exposed cannot be taken away from under its readers.
  BOOST_TEST(::ftruncate(file.get(), 100) != 0);
}

BOOST_AUTO_TEST_CASE(memory_that_another_process_writes_to_is_kept_until_it_is_done) {
  const auto store = BulkStore::make().value();
  auto memory = memory_of(100);
  const std::weak_ptr<void> alive = memory;
  const auto ref = store->expose_writable({memory, *memory}).value();
  memory.reset();
  auto table = ExposureTable::open(ref).value();  // as another process would
  const auto claim = ExposureTable::claim_of_this_process();
  BOOST_REQUIRE(table.begin_write(ref.slot, claim));
  BOOST_TEST(!table.begin_write(ref.slot, claim));
  BOOST_TEST(store->withdraw(ref));
  BOOST_TEST(!table.read(ref.slot, ref.key));
  BOOST_TEST(!store->find(ref.slot, ref.key, true));
  BOOST_TEST(!alive.expired());
  const auto other = memory_of(1);
  BOOST_TEST(store->expose(Slice(other, *other))->slot != ref.slot);
  BOOST_TEST(!alive.expired());
  table.end_write(ref.slot);
  BOOST_TEST(store->expose(Slice(other, *other)).has_value());
  BOOST_TEST(alive.expired());
}

BOOST_AUTO_TEST_CASE(a_writer_that_died_holds_nothing) {
  const auto store = BulkStore::make().value();
  auto memory = memory_of(100);
  const std::weak_ptr<void> alive = memory;
  const auto ref = store->expose_writable({memory, *memory}).value();
  memory.reset();
  const pid_t child = ::fork();
  if (child == 0) {
    auto table = ExposureTable::open(ref);
    const bool good = table && table->begin_write(ref.slot, ExposureTable::claim_of_this_process());
    ::_exit(good ? 0 : 1);
  }
  int status = 1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_REQUIRE(status == 0);
  auto table = ExposureTable::open(ref).value();
  BOOST_TEST(table.begin_write(ref.slot, ExposureTable::claim_of_this_process()));
  table.end_write(ref.slot);
  BOOST_TEST(store->withdraw(ref));
  BOOST_TEST(alive.expired());
}

}  // namespace
}  // namespace troupe
