// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/job_store.hpp"

#include "actors/control/store/sqlite_store.hpp"
#include "actors/control/store/stored_record.hpp"
#include "messages/store.capnp.h"
#include "messages/version.hpp"
#include "tests/support/child.hpp"
#include "tests/support/memory_store.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/wait.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>
#include <capnp/schema.h>

#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <tuple>

namespace troupe {
namespace {

using test::why;

Job job(const std::string& name) {
  return {name, "[app]\nname = \"" + name + "\"\n", "", JobState::submitted, "", 0, {}};
}

struct Fixture {
  std::shared_ptr<test::MemoryStoreData> data = std::make_shared<test::MemoryStoreData>();
  test::MemoryStore store{data};
  JobStore jobs{store};
  Lease lease = store.acquire("control", "a/1", Millis(60000)).value();
  Fence fence = fence_of(lease);
};

bool says(const Error& error, ErrorCode code, const std::string& words) {
  BOOST_TEST_MESSAGE(error.what);
  return error.code == code && error.what.find(words) != std::string::npos;
}

BOOST_FIXTURE_TEST_CASE(a_job_is_what_was_written_last, Fixture) {
  auto stored = jobs.add(job("digits"), fence).value();
  BOOST_TEST(stored.job.generation == fence.generation);
  BOOST_CHECK(jobs.get("digits").value() == stored);
  stored.job.state = JobState::running;
  stored.job.run_directory = "/run/digits";
  stored.job.places = {{"/jobs/digits/trainers/0", "host-a"},
                       {"/jobs/digits/trainers/1", "host-b"}};
  const auto running = jobs.update(stored, fence).value();
  BOOST_TEST(running.revision > stored.revision);
  BOOST_CHECK(jobs.get("digits").value() == running);

  const auto stale = jobs.update(stored, fence);
  BOOST_REQUIRE(!stale);
  BOOST_TEST(
      says(stale.error(), ErrorCode::already_exists, "job 'digits': jobs/digits: was to be"));
  BOOST_TEST(!jobs.remove(stored, fence));
  BOOST_TEST(jobs.remove(running, fence).has_value());
  const auto gone = jobs.get("digits");
  BOOST_REQUIRE(!gone);
  BOOST_TEST(says(gone.error(), ErrorCode::not_found, "there is no job 'digits'"));
}

BOOST_FIXTURE_TEST_CASE(two_jobs_of_one_name_are_one_too_many, Fixture) {
  BOOST_TEST(jobs.add(job("digits"), fence).has_value());
  const auto again = jobs.add(job("digits"), fence);
  BOOST_REQUIRE(!again);
  BOOST_TEST(says(again.error(), ErrorCode::already_exists, "was to be not there"));
  BOOST_TEST(!jobs.add(job("a/b"), fence));
  BOOST_TEST(!jobs.add(job(""), fence));
}

BOOST_FIXTURE_TEST_CASE(a_former_control_node_changes_nothing, Fixture) {
  const auto stored = jobs.add(job("digits"), fence).value();
  BOOST_TEST(store.release(lease).has_value());
  const auto next = store.acquire("control", "b/1", Millis(60000)).value();
  const auto refused = jobs.update(stored, fence);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(says(refused.error(), ErrorCode::aborted, "now b/1 holds it"));
  BOOST_TEST(!jobs.add(job("other"), fence));
  BOOST_TEST(!jobs.remove(stored, fence));
  BOOST_TEST(jobs.update(stored, fence_of(next)).value().job.generation == next.generation);
}

BOOST_FIXTURE_TEST_CASE(all_jobs_are_listed, Fixture) {
  for (int i = 100; i < 200; ++i) {
    BOOST_TEST(jobs.add(job("job" + std::to_string(i)), fence).has_value());
  }
  BOOST_TEST(store.put("job", "no job", {}).has_value());
  const auto all = jobs.list().value();
  BOOST_REQUIRE(all.size() == 100u);
  BOOST_TEST(all.front().job.name == "job100");
  BOOST_TEST(all.back().job.name == "job199");
  data->reachable = false;
  const auto unreachable = jobs.list();
  BOOST_REQUIRE(!unreachable);
  BOOST_TEST(says(unreachable.error(), ErrorCode::unavailable, "the list of jobs"));
}

BOOST_FIXTURE_TEST_CASE(a_job_too_large_for_a_store_is_refused_by_name, Fixture) {
  auto large = job("digits");
  large.graph = std::string(max_store_value, '#');
  const auto refused = jobs.add(large, fence);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(says(refused.error(), ErrorCode::invalid_argument, "a store takes at most 1048576"));
}

BOOST_FIXTURE_TEST_CASE(a_newer_format_is_refused_with_the_name_of_its_program, Fixture) {
  BOOST_TEST(store.put("jobs/digits", wrap_record(2, "something new"), {}).has_value());
  for (const auto& error : {jobs.get("digits").error(), jobs.list().error()}) {
    BOOST_TEST(says(error, ErrorCode::version_mismatch,
                    std::string("job 'digits' in the store: written by Troupe ") + program_version +
                        " in format 2"));
    BOOST_TEST(says(error, ErrorCode::version_mismatch, "use the newer program"));
  }
}

BOOST_FIXTURE_TEST_CASE(a_damaged_record_is_refused, Fixture) {
  BOOST_TEST(jobs.add(job("digits"), fence).has_value());
  const auto good = store.get("jobs/digits").value()->value;
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    BOOST_REQUIRE(store.put("jobs/digits", bad, {}).has_value());
    const auto read = jobs.get("digits");
    if (!read) ++refused;
    // Only padding and the name of the program that wrote it are not under the hash.
    if (read) BOOST_TEST((read->job.name == "digits" && read->job.graph == job("digits").graph));
  }
  BOOST_TEST(refused > static_cast<int>(good.size()) * 3 / 4);
  for (const auto& bytes : {std::string(), std::string("x"), good.substr(0, 40),
                            good.substr(0, good.size() - 8), std::string(4096, '\xff')}) {
    BOOST_REQUIRE(store.put("jobs/digits", bytes, {}).has_value());
    BOOST_TEST(!jobs.get("digits"));
  }
  BOOST_REQUIRE(store.put("jobs/other", good, {}).has_value());
  const auto misplaced = jobs.get("other");
  BOOST_REQUIRE(!misplaced);
  BOOST_TEST(says(misplaced.error(), ErrorCode::corrupt, "the record is that of job 'digits'"));
}

/// What the writer has been told is stored, for each of its jobs.
struct Acknowledged {
  std::array<std::atomic<Revision>, 4> revision{};
  std::atomic<int> writes{0};
};

void write_for_ever(const std::filesystem::path& path, Acknowledged& acknowledged) {
  auto store = open_sqlite_store(path, {std::to_string(::getpid()), &BootClock::now}).value();
  JobStore jobs(*store);
  const auto fence = fence_of(store->acquire("control", "a/1", Millis(60000)).value());
  for (std::uint64_t i = 0;; ++i) {
    const auto which = i % acknowledged.revision.size();
    auto stored = jobs.get("job" + std::to_string(which)).value();
    // Graph and reason belong together: a record that holds only one of them is torn.
    stored.job.reason = std::to_string(stored.revision);
    stored.job.graph = stored.job.reason + std::string(20000, '#');
    acknowledged.revision[which] = jobs.update(std::move(stored), fence).value().revision;
    ++acknowledged.writes;
  }
}

BOOST_AUTO_TEST_CASE(jobs_are_whole_and_none_is_lost_after_50_kills_in_the_middle_of_writes) {
  const test::Scratch scratch(test::in_memory);
  const auto path = scratch / "store";
  test::Shared<Acknowledged> acknowledged;
  {
    auto store = open_sqlite_store(path).value();
    JobStore jobs(*store);
    const auto lease = store->acquire("control", "a/0", Millis(60000)).value();
    for (int i = 0; i < 4; ++i) {
      BOOST_REQUIRE(jobs.add(job("job" + std::to_string(i)), fence_of(lease)).has_value());
    }
  }
  std::mt19937 random(7);
  Generation generation = 0;
  for (int round = 0; round < 50; ++round) {
    const int from = acknowledged->writes;
    const auto writer = test::fork_child([&] { write_for_ever(path, *acknowledged); });
    const int to = from + 1 + static_cast<int>(random() % 40);
    BOOST_REQUIRE(test::eventually([&] { return acknowledged->writes >= to; }));
    ::kill(writer, SIGKILL);
    BOOST_REQUIRE(test::wait_for_child(writer) == -SIGKILL);

    auto store = open_sqlite_store(path);
    BOOST_REQUIRE_MESSAGE(store, why(store));
    JobStore jobs(**store);
    const auto all = jobs.list();
    BOOST_REQUIRE_MESSAGE(all, why(all));
    for (const auto& stored : *all) {
      const auto which = static_cast<std::size_t>(stored.job.name.back() - '0');
      BOOST_TEST(stored.revision >= acknowledged->revision[which]);
      const auto& [graph, reason] = std::tie(stored.job.graph, stored.job.reason);
      if (!reason.empty()) BOOST_TEST((graph == reason + std::string(20000, '#')));
      BOOST_TEST(stored.revision > stored.job.generation);
    }
    const auto next = (*store)->acquire("check", "b/1", Millis(1000)).value();
    BOOST_TEST(next.generation > generation);
    generation = next.generation;
    BOOST_TEST((*store)->release(next).has_value());
  }
  BOOST_TEST_MESSAGE(acknowledged->writes.load() << " writes");
}

}  // namespace
}  // namespace troupe
