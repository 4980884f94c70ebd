// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/sqlite_store.hpp"

#include "tests/support/child.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fstream>

namespace {

std::atomic<std::int64_t> wall_clock_jump_s{0};

}  // namespace

// Stands before libc's, for SQLite too: the date can be changed for this program alone.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += wall_clock_jump_s;
  return result;
}

namespace troupe {
namespace {

using test::why;
namespace fs = std::filesystem;

Error error_of(const fs::path& path) {
  auto store = open_sqlite_store(path);
  BOOST_REQUIRE(!store);
  BOOST_TEST(store.error().what.find(path.string()) != std::string::npos, why(store));
  return store.error();
}

bool says(const Error& error, const std::string& words) {
  if (error.what.find(words) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("it says: " + error.what);
  return false;
}

void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

/// Runs SQL on a file that no store has open.
void run_sql(const fs::path& path, const std::string& sql) {
  sqlite3* database = nullptr;
  BOOST_REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  BOOST_TEST(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
}

BOOST_AUTO_TEST_CASE(file_and_folder_are_for_their_user_only) {
  const test::Scratch scratch;
  const auto path = scratch / "made" / "store";
  const auto old = ::umask(0);
  const auto store = open_sqlite_store(path);
  ::umask(old);
  BOOST_REQUIRE_MESSAGE(store, why(store));
  BOOST_TEST((*store)->put("key", "value", {}).has_value());
  const auto mode = [](const fs::path& of) {
    return static_cast<int>(fs::status(of).permissions());
  };
  BOOST_TEST(mode(path) == 0600);
  BOOST_TEST(mode(path.string() + "-wal") == 0600);
  BOOST_TEST(mode(path.string() + "-shm") == 0600);
  BOOST_TEST(mode(path.parent_path()) == 0700);

  fs::permissions(path, fs::perms(0640));
  BOOST_TEST(says(error_of(path), "chmod 600"));
  fs::permissions(path, fs::perms(0600));
  fs::permissions(path.parent_path(), fs::perms(0755));
  const auto open_folder = open_sqlite_store(path);
  BOOST_REQUIRE(!open_folder);
  BOOST_TEST(says(open_folder.error(), "chmod 700 " + path.parent_path().string()));
}

BOOST_AUTO_TEST_CASE(what_was_written_is_there_when_it_is_opened_again) {
  const test::Scratch scratch;
  Lease lease;
  Revision revision = 0;
  {
    auto store = open_sqlite_store(scratch / "store").value();
    lease = store->acquire("singleton", "a/1", Millis(60000)).value();
    revision = store->put("key", "value", {.revision = {}, .fence = fence_of(lease)}).value();
  }
  auto store = open_sqlite_store(scratch / "store").value();
  BOOST_CHECK((store->get("key").value() == StoreEntry{"key", "value", revision}));
  BOOST_TEST(store->renew(lease).has_value());
}

BOOST_AUTO_TEST_CASE(no_change_of_the_date_ends_or_prolongs_a_lease) {
  const test::Scratch scratch;
  auto store = open_sqlite_store(scratch / "store").value();
  const auto date = [] { return std::chrono::system_clock::now(); };
  const auto before = date();
  const auto start = BootClock::now();
  const auto kept = store->acquire("kept", "a/1", Millis(60000)).value();
  const auto short_one = store->acquire("short", "a/1", min_lease_ttl).value();

  wall_clock_jump_s = 10 * 24 * 3600;
  BOOST_REQUIRE(date() - before > std::chrono::hours(200));  // the jump is one
  BOOST_TEST(store->holder("kept").value().has_value());
  BOOST_TEST(store->renew(kept).has_value());
  wall_clock_jump_s = -10 * 24 * 3600;
  BOOST_REQUIRE(before - date() > std::chrono::hours(200));
  BOOST_TEST(store->holder("kept").value().has_value());
  while (store->holder("short").value()) BOOST_REQUIRE(BootClock::now() < start + Millis(9000));
  BOOST_TEST((BootClock::now() >= start + min_lease_ttl));
  BOOST_TEST(!store->renew(short_one));
  wall_clock_jump_s = 0;
}

BOOST_AUTO_TEST_CASE(no_lease_survives_a_restart_of_the_machine) {
  const test::Scratch scratch;
  BootClock::time_point time{Millis(5000000)};
  const auto start_machine = [&](const std::string& boot) {
    return open_sqlite_store(scratch / "store", {boot, [&] { return time; }}).value();
  };
  const auto old = start_machine("first")->acquire("singleton", "a/1", Millis(60000)).value();
  time = BootClock::time_point(Millis(10000));  // counts from the start
  auto store = start_machine("second");
  BOOST_TEST(!store->holder("singleton").value());
  BOOST_TEST(!store->renew(old));
  const auto next = store->acquire("singleton", "a/2", Millis(60000)).value();
  BOOST_TEST(next.generation > old.generation);
}

BOOST_AUTO_TEST_CASE(what_is_no_store_is_refused_and_left_as_it_is) {
  const test::Scratch scratch;
  const auto path = scratch / "store";
  write_file(path,
             "a text that somebody keeps here, and that is longer than a header of SQLite's\n"
             "which has one hundred bytes\n");
  BOOST_TEST(says(error_of(path), "is no SQLite file"));
  fs::remove(path);
  run_sql(path, "CREATE TABLE cookies (name TEXT)");
  const auto size = fs::file_size(path);
  BOOST_TEST(says(error_of(path), "of another program"));
  BOOST_TEST(fs::file_size(path) == size);
  BOOST_TEST(says(error_of(scratch / "file" / ""), "cannot"));
}

BOOST_AUTO_TEST_CASE(a_newer_format_is_refused_by_name) {
  const test::Scratch scratch;
  const auto path = scratch / "store";
  BOOST_TEST(open_sqlite_store(path).has_value());
  run_sql(path, "PRAGMA user_version = 2");
  const auto error = error_of(path);
  BOOST_CHECK(error.code == ErrorCode::version_mismatch);
  BOOST_TEST(says(error, "is of format 2, and this program knows format 1"));
}

BOOST_AUTO_TEST_CASE(a_damaged_file_is_found_when_it_is_opened) {
  const test::Scratch scratch(test::in_memory);
  const auto path = scratch / "store";
  {
    auto store = open_sqlite_store(path).value();
    for (int i = 0; i < 200; ++i) {
      BOOST_TEST(store->put("key" + std::to_string(i), std::string(500, 'x'), {}).has_value());
    }
  }
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  for (std::streamoff page = 2; page < 20; ++page) {
    file.seekp(page * 4096);
    file << std::string(200, '\x55');
  }
  file.close();
  const auto error = error_of(path);
  BOOST_CHECK(error.code == ErrorCode::corrupt);
  BOOST_TEST(says(error, "is damaged"));
  BOOST_TEST(says(error, "put a copy of it back, or move it away"));
}

BOOST_AUTO_TEST_CASE(a_file_that_was_replaced_while_in_use_is_noticed) {
  const test::Scratch scratch;
  const auto path = scratch / "store";
  auto store = open_sqlite_store(path).value();
  BOOST_TEST(store->put("key", "value", {}).has_value());
  fs::rename(path, scratch / "elsewhere");
  auto other = open_sqlite_store(path).value();
  BOOST_TEST(other->acquire("singleton", "b/1", Millis(1000)).has_value());
  const auto refused = store->acquire("singleton", "a/1", Millis(1000));
  BOOST_REQUIRE(!refused);
  BOOST_TEST(says(refused.error(), "was removed or replaced"));
}

BOOST_AUTO_TEST_CASE(a_read_only_file_says_who_may_not_write_it) {
  const test::Scratch scratch;
  const auto path = scratch / "store";
  { BOOST_TEST(open_sqlite_store(path).has_value()); }
  constexpr int nobody = 65534;
  if (::geteuid() == 0) {  // root may write everything
    BOOST_REQUIRE(::chown(scratch.path().c_str(), nobody, nobody) == 0);
    BOOST_REQUIRE(::chown(path.c_str(), nobody, nobody) == 0);
  }
  fs::permissions(path, fs::perms(0400));
  const auto said = test::in_child([&]() -> std::string {
    if (::geteuid() == 0 && ::setuid(nobody) != 0) return "cannot become another user";
    auto store = open_sqlite_store(path);
    if (store) return "it was opened";
    return (store.error().code == ErrorCode::permission_denied ? "denied: " : "") + why(store);
  });
  BOOST_TEST(said.find("denied: " + path.string() + ": cannot be written") == 0, said);
  BOOST_TEST(said.find("or name another file") != std::string::npos, said);
}

boost::test_tools::assertion_result can_mount(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer(::geteuid() == 0);
  answer.message() << "needs root, to mount a small disk in a namespace of its own";
  return answer;
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_named_and_nothing_is_half_written,
                     *boost::unit_test::precondition(&can_mount)) {
  const test::Scratch scratch;
  const auto said = test::in_child([&]() -> std::string {
    const auto disk = scratch.path().string();
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("disk", disk.c_str(), "tmpfs", 0, "size=512k,mode=0700") != 0) {
      return "cannot mount";
    }
    auto store = open_sqlite_store(scratch / "store").value();
    const auto lease = store->acquire("singleton", "a/1", Millis(60000)).value();
    write_file(scratch / "ballast", std::string(40000, 'x'));
    int written = 0;
    Result<Revision> put = Revision{0};
    while ((put = store->put("key" + std::to_string(written), std::string(20000, 'x'), {}))) {
      ++written;
    }
    const auto entries = store->list("key", "", 32);
    if (written == 0 || why(put).find("its disk is full") == std::string::npos) return why(put);
    if (!entries || entries->entries.size() != static_cast<std::size_t>(written)) return "torn";
    fs::remove(scratch / "ballast");
    if (auto again = store->put("small", "x", {}); !again) return why(again);
    return store->renew(lease) ? "well" : "lease lost";
  });
  BOOST_TEST(said == "well");
}

BOOST_AUTO_TEST_CASE(a_stopped_process_that_holds_the_lock_is_not_waited_for_for_ever) {
  const test::Scratch scratch;
  const auto path = scratch / "store";
  auto store = open_sqlite_store(path).value();
  sqlite3* other = nullptr;
  BOOST_REQUIRE(sqlite3_open(path.c_str(), &other) == SQLITE_OK);
  BOOST_REQUIRE(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK);
  const auto refused = store->acquire("singleton", "a/1", Millis(1000));
  BOOST_REQUIRE(!refused);
  BOOST_CHECK(refused.error().code == ErrorCode::timeout);
  BOOST_TEST(says(refused.error(), "another process has kept it locked for 2000 ms"));
  sqlite3_close(other);
  BOOST_TEST(store->acquire("singleton", "a/1", Millis(1000)).has_value());
}

/// What two processes agree on while they race.
struct Race {
  std::atomic<int> inside{0};
  std::atomic<int> won{0};
  std::atomic<int> faults{0};
  std::atomic<std::uint64_t> last{0};
  std::atomic<std::int64_t> time_ms{1000000};
};

/// Takes the lease again and again; gives it back, or lets it run out.
void race(const fs::path& path, Race& race, const std::string& owner, int rounds) {
  auto store = open_sqlite_store(
                   path, {"this boot", [&] { return BootClock::time_point(Millis(race.time_ms)); }})
                   .value();
  while (race.won < rounds) {
    const auto lease = store->acquire("singleton", owner, min_lease_ttl);
    if (!lease) {
      if (lease.error().code != ErrorCode::already_exists) ++race.faults;
      continue;
    }
    if (race.inside.fetch_add(1) != 0) ++race.faults;
    if (race.last.exchange(lease->generation) >= lease->generation) ++race.faults;
    const bool give_back = race.won.fetch_add(1) % 3 != 0;
    race.inside.fetch_sub(1);
    if (!give_back) {
      race.time_ms += min_lease_ttl.count();
    } else if (!store->release(*lease)) {
      ++race.faults;
    }
  }
}

BOOST_AUTO_TEST_CASE(two_processes_that_race_a_thousand_times_are_never_both_owners) {
  const test::Scratch scratch(test::in_memory);
  const auto path = scratch / "store";
  { BOOST_TEST(open_sqlite_store(path).has_value()); }
  test::Shared<Race> shared;
  const auto one = test::fork_child([&] { race(path, *shared, "a/1", 1000); });
  const auto other = test::fork_child([&] { race(path, *shared, "b/1", 1000); });
  BOOST_TEST(test::wait_for_child(one) == 0);
  BOOST_TEST(test::wait_for_child(other) == 0);
  BOOST_TEST(shared->won >= 1000);
  BOOST_TEST(shared->faults == 0);
}

}  // namespace
}  // namespace troupe
