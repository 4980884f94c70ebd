// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/folder_link.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;
using test::has;
using troupe::test::Scratch;

constexpr std::chrono::milliseconds none{0};

fs::path put(const Scratch& scratch, std::uint64_t step, const std::string& ending = "") {
  std::string digits = std::to_string(step);
  digits.insert(0, 12 - digits.size(), '0');
  const fs::path folder = scratch / ("step-" + digits + ending);
  test::write_one(folder, step);
  return folder;
}

void flip(const fs::path& folder) {
  const fs::path file = folder / shard_name(0, 1);
  std::string bytes = test::read_file(file);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_file(file, bytes);
}

std::vector<std::string> names(const Scratch& scratch) {
  std::vector<std::string> out;
  const auto listed = list_checkpoints(scratch.path()).value();
  for (const auto& one : listed) {
    out.push_back(one.folder.filename());
  }
  return out;
}

BOOST_AUTO_TEST_CASE(they_are_listed_by_step_whatever_else_lies_there) {
  const Scratch scratch;
  put(scratch, 80);
  put(scratch, 9);
  put(scratch, 80, ".1");
  fs::create_directory(scratch / "step-000000000100");
  fs::create_directory(scratch / "step-x");
  fs::create_directory(scratch / "other");
  test::write_file(scratch / "step-000000000007", "a file");
  const auto listed = list_checkpoints(scratch.path()).value();
  BOOST_REQUIRE(listed.size() == 4U);
  BOOST_TEST(listed[0].step == 9U);
  BOOST_TEST(listed[2].copy == 1U);
  BOOST_TEST(!listed[3].manifest.has_value());
  BOOST_TEST((listed[3].why.code == ErrorCode::not_found));
  BOOST_TEST(list_checkpoints(scratch / "nowhere").value().empty());
}

BOOST_AUTO_TEST_CASE(the_newest_good_one_is_found_and_it_is_said_why_newer_ones_were_not) {
  const Scratch scratch;
  put(scratch, 10);
  const auto good = put(scratch, 20);
  flip(put(scratch, 30));
  const auto torn = put(scratch, 40);
  fs::resize_file(torn / shard_name(0, 1), 1000);
  const auto unfinished = put(scratch, 50);
  fs::remove(unfinished / "manifest");
  const auto found = latest_checkpoint(scratch.path());
  BOOST_REQUIRE_MESSAGE(found, troupe::test::why(found));
  BOOST_TEST(found->folder == good);
  BOOST_TEST(found->manifest.step == 20U);
  BOOST_REQUIRE(found->refused.size() == 3U);
  BOOST_TEST(has(found->refused[0].what, "no manifest"));
  BOOST_TEST(has(found->refused[1].what, "it has 1000 bytes"));
  BOOST_TEST(has(found->refused[2].what, "tensor state.frame is not the one"));
}

BOOST_AUTO_TEST_CASE(one_of_another_job_is_passed_over) {
  const Scratch scratch;
  const auto mine = put(scratch, 10);
  const test::State state = test::make_state(20);
  Manifest other = test::about(20);
  other.identity.seed = 8;
  BOOST_REQUIRE(write_checkpoint(scratch / "step-000000000020", other, state.layout, state.bytes));
  const JobIdentity job = test::about(0).identity;
  const auto found = latest_checkpoint(scratch.path(), &job).value();
  BOOST_TEST(found.folder == mine);
  BOOST_REQUIRE(found.refused.size() == 1U);
  BOOST_TEST(has(found.refused[0].what, "seed 8 there, 7 in this graph"));
  BOOST_TEST(latest_checkpoint(scratch.path()).value().manifest.step == 20U);
}

BOOST_AUTO_TEST_CASE(a_checkpoints_own_folder_stands_for_it) {
  const Scratch scratch;
  const auto first = put(scratch, 10);
  put(scratch, 20);
  BOOST_TEST(latest_checkpoint(first).value().manifest.step == 10U);
}

BOOST_AUTO_TEST_CASE(where_none_is_good_all_reasons_are_given) {
  const Scratch scratch;
  BOOST_TEST((latest_checkpoint(scratch.path()).error().code == ErrorCode::not_found));
  flip(put(scratch, 30));
  flip(put(scratch, 40));
  const auto found = latest_checkpoint(scratch.path());
  BOOST_REQUIRE(!found);
  BOOST_TEST(has(found.error().what, "step-000000000030/"));
  BOOST_TEST(has(found.error().what, "step-000000000040/"));
}

BOOST_AUTO_TEST_CASE(one_process_writes_at_a_time) {
  const Scratch scratch;
  auto first = CheckpointFolder::lock(scratch / "a" / "b", none);
  BOOST_REQUIRE_MESSAGE(first, troupe::test::why(first));
  const auto second = CheckpointFolder::lock(scratch / "a" / "b", none);
  BOOST_REQUIRE(!second);
  BOOST_TEST(has(second.error().what, "another process is writing"));
  first = fail(ErrorCode::aborted, "over");
  BOOST_TEST(CheckpointFolder::lock(scratch / "a" / "b", none).has_value());
}

BOOST_AUTO_TEST_CASE(the_newest_ones_are_kept_and_the_one_just_written_is_never_removed) {
  const Scratch scratch;
  for (const std::uint64_t step : {10, 20, 30, 40, 50}) put(scratch, step);
  auto folder = CheckpointFolder::lock(scratch.path(), none).value();
  BOOST_REQUIRE(folder.retain(2, 40));  // 50 is of another history
  const std::vector<std::string> expected = {"step-000000000030", "step-000000000040",
                                             "step-000000000050"};
  BOOST_TEST(names(scratch) == expected, boost::test_tools::per_element());
  BOOST_REQUIRE(folder.retain(0, 40));
  BOOST_TEST(names(scratch).front() == "step-000000000040");
}

BOOST_AUTO_TEST_CASE(damaged_ones_do_not_count_as_kept) {
  const Scratch scratch;
  const auto good = put(scratch, 10);
  fs::resize_file(put(scratch, 20) / shard_name(0, 1), 100);
  fs::resize_file(put(scratch, 30) / "manifest", 100);
  auto folder = CheckpointFolder::lock(scratch.path(), none).value();
  BOOST_REQUIRE(folder.retain(1, 30));
  BOOST_TEST(fs::exists(good));
  BOOST_TEST(names(scratch).size() == 3U);
}

BOOST_AUTO_TEST_CASE(folders_of_others_are_not_taken_for_what_killed_writers_left) {
  const Scratch scratch;
  fs::create_directories(scratch / "step-5" / "photos");
  const auto foreign = put(scratch, 10);
  fs::remove(foreign / "manifest");
  test::write_file(foreign / "notes.txt", "mine");
  auto folder = CheckpointFolder::lock(scratch.path(), none).value();
  BOOST_REQUIRE(folder.place_for(10, [](const Manifest&) { return true; }));
  BOOST_TEST(fs::exists(scratch / "step-5" / "photos"));
  BOOST_TEST(fs::exists(foreign / "notes.txt"));
}

BOOST_AUTO_TEST_CASE(what_killed_writers_left_is_removed_and_a_damaged_one_is_written_anew_beside) {
  const Scratch scratch;
  const auto left = put(scratch, 10);
  fs::remove(left / "manifest");
  const auto good = put(scratch, 20);
  const auto bad = put(scratch, 30);
  flip(bad);
  auto folder = CheckpointFolder::lock(scratch.path(), none).value();
  const auto any = [](const Manifest&) { return true; };
  const auto no_one = [](const Manifest&) { return false; };
  BOOST_TEST(folder.place_for(40, any).value().value() == scratch / "step-000000000040");
  BOOST_TEST(!fs::exists(left));
  BOOST_TEST(!folder.place_for(20, any).value().has_value());
  BOOST_TEST(folder.place_for(20, no_one).value().value() == scratch / "step-000000000020.1");
  BOOST_TEST(folder.place_for(30, any).value().value() == scratch / "step-000000000030.1");
  BOOST_TEST(fs::exists(good));
  BOOST_TEST(fs::exists(bad));
}

}  // namespace
}  // namespace troupe::easyscale
