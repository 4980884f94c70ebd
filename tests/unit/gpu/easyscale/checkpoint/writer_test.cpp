// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/folder_link.hpp"
#include "gpu/easyscale/checkpoint/writer_link.hpp"
#include "gpu/easyscale/job/sampler.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

#include <sys/resource.h>

#include <atomic>

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;
using test::has;
using troupe::test::Scratch;

void offer(CheckpointWriter& writer, std::uint64_t step, std::uint64_t rows = 30) {
  test::State state = test::make_state(step, rows);
  writer.offer(step, Slice::own(std::move(state.bytes)), std::move(state.layout));
}

template <class News>
std::vector<News> all(const std::vector<CheckpointNews>& news) {
  std::vector<News> out;
  for (const auto& one : news) {
    if (const auto* it = std::get_if<News>(&one)) out.push_back(*it);
  }
  return out;
}

BOOST_AUTO_TEST_CASE(the_plan_says_which_steps_are_kept) {
  const CheckpointPlan plan{"x", 10, 3, 4};
  BOOST_TEST(!plan.writes(0, 44));
  BOOST_TEST(plan.writes(10, 44));
  BOOST_TEST(!plan.writes(15, 44));
  BOOST_TEST(plan.writes(44, 44));
  BOOST_TEST(plan.hashes(0, 44));
  BOOST_TEST(!plan.hashes(10, 44));
  BOOST_TEST((!CheckpointPlan{"x", 0, 3, 0}.writes(44, 44)));
  BOOST_TEST((!CheckpointPlan{"x", 0, 3, 0}.hashes(44, 44)));
}

BOOST_AUTO_TEST_CASE(a_long_run_is_hashed_more_and_more_rarely) {
  const CheckpointPlan plan{"x", 0, 3, 10};
  const std::uint64_t steps = 1'000'003;
  std::vector<std::uint64_t> hashed;
  for (std::uint64_t step = 0; step <= steps; ++step) {
    if (plan.hashes(step, steps)) hashed.push_back(step);
  }
  BOOST_TEST(hashed.at(500) == 5000U);
  BOOST_TEST(hashed.at(501) == 5020U);
  BOOST_TEST(hashed.size() < 3000U);
  BOOST_TEST(hashed.back() == steps);
}

BOOST_AUTO_TEST_CASE(states_are_written_on_their_turn_with_all_that_is_needed_to_go_on) {
  const Scratch scratch;
  std::atomic<int> called = 0;
  CheckpointWriter writer({scratch / "c", 10, 2, 0}, test::about(0), [&] { ++called; });
  for (std::uint64_t step = 0; step <= 44; ++step) {
    BOOST_TEST(writer.wants(step) == ((step > 0 && step % 10 == 0) || step == 44));
    offer(writer, step);
    BOOST_TEST(!writer.wants(step));
    writer.flush();
  }
  const auto wrote = all<WroteCheckpoint>(writer.take_news());
  BOOST_REQUIRE(wrote.size() == 5U);
  BOOST_TEST(called == 5);
  BOOST_TEST(wrote[4].step == 44U);
  BOOST_TEST(wrote[4].bytes > 4800U);
  const auto found = latest_checkpoint(scratch / "c").value();
  BOOST_TEST(found.folder == wrote[4].folder);
  BOOST_TEST((load_checkpoint(found.folder, found.manifest).value() == test::make_state(44).bytes));
  BOOST_REQUIRE(found.manifest.rank_records.size() == 2U);
  BOOST_TEST(found.manifest.rank_records[1].generator_seed == rank_seed(7, 44, 1));
  BOOST_TEST(list_checkpoints(scratch / "c").value().size() == 2U);
}

BOOST_AUTO_TEST_CASE(the_state_that_waits_is_replaced_by_a_newer_one_and_it_is_said) {
  const Scratch scratch;
  CheckpointWriter writer({scratch / "c", 1, 100, 0}, test::about(0), [] {});
  for (std::uint64_t step = 1; step <= 40; ++step) offer(writer, step);
  writer.flush();
  const auto news = writer.take_news();
  const auto wrote = all<WroteCheckpoint>(news);
  const auto missed = all<MissedCheckpoint>(news);
  BOOST_TEST(wrote.size() + missed.size() == 40U);
  BOOST_TEST(missed.size() > 0U);
  BOOST_TEST(wrote.back().step == 40U);  // the newest always
}

BOOST_AUTO_TEST_CASE(what_is_handed_over_is_written_before_the_writer_ends) {
  const Scratch scratch;
  {
    CheckpointWriter writer({scratch / "c", 1, 3, 0}, test::about(0), [] {});
    offer(writer, 1);
  }
  BOOST_TEST(latest_checkpoint(scratch / "c").value().manifest.step == 1U);
}

BOOST_AUTO_TEST_CASE(a_state_that_is_there_already_is_not_written_again) {
  const Scratch scratch;
  for (int life = 0; life < 2; ++life) {
    CheckpointWriter writer({scratch / "c", 1, 3, 0}, test::about(0), [] {});
    offer(writer, 1);
    writer.flush();
    BOOST_TEST(writer.take_news().size() == (life == 0 ? 1U : 0U));
  }
  CheckpointWriter writer({scratch / "c", 1, 3, 0}, test::about(0), [] {});
  offer(writer, 1, 31);  // another state of the same step
  writer.flush();
  BOOST_TEST(list_checkpoints(scratch / "c").value().size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_full_disk_is_said_and_the_next_one_is_written_when_there_is_room) {
  const Scratch scratch;
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  CheckpointWriter writer({scratch / "c", 1, 3, 0}, test::about(0), [] {});
  rlimit small = before;
  small.rlim_cur = 100'000;  // the kernel sends SIGXFSZ, which would end the process elsewhere
  ::setrlimit(RLIMIT_FSIZE, &small);
  offer(writer, 1, 3000);
  writer.flush();
  ::setrlimit(RLIMIT_FSIZE, &before);
  const auto missed = all<MissedCheckpoint>(writer.take_news());
  BOOST_REQUIRE(missed.size() == 1U);
  BOOST_TEST((missed[0].why.code == ErrorCode::resource_exhausted));
  BOOST_TEST(list_checkpoints(scratch / "c").value().empty());
  offer(writer, 2, 3000);
  writer.flush();
  BOOST_TEST(all<WroteCheckpoint>(writer.take_news()).size() == 1U);
}

BOOST_AUTO_TEST_CASE(who_finds_another_writer_there_says_so) {
  const Scratch scratch;
  const std::chrono::milliseconds none{0};
  const auto other = CheckpointFolder::lock(scratch / "c", none);
  CheckpointWriter writer(
      {scratch / "c", 1, 3, 0}, test::about(0), [] {}, none);
  offer(writer, 1);
  writer.flush();
  const auto missed = all<MissedCheckpoint>(writer.take_news());
  BOOST_REQUIRE(missed.size() == 1U);
  BOOST_TEST(has(missed[0].why.what, "another process is writing"));
}

BOOST_AUTO_TEST_CASE(hashes_are_told_for_sampled_steps_and_always_for_the_last) {
  const Scratch scratch;
  CheckpointWriter writer({scratch / "c", 0, 3, 1}, test::about(0), [] {});
  for (std::uint64_t step = 0; step <= 44; ++step) {
    offer(writer, step, 3000);
    writer.flush();
  }
  const auto hashed = all<HashedState>(writer.take_news());
  BOOST_REQUIRE(hashed.size() >= 2U);
  BOOST_TEST(hashed.size() < 45U);  // one takes long enough that others are left out
  BOOST_TEST(hashed.front().step == 0U);
  BOOST_TEST(hashed.back().step == 44U);
  const test::State last = test::make_state(44, 3000);
  BOOST_TEST((hashed.back().tensors == hash_tensors(last.layout, last.bytes).value()));
  BOOST_TEST(!fs::exists(scratch / "c"));
}

}  // namespace
}  // namespace troupe::easyscale
