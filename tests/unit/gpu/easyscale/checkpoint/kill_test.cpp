// SPDX-License-Identifier: Apache-2.0
//
// Writers that are killed by SIGKILL at any time: what is found afterwards is whole.
#include "gpu/easyscale/checkpoint/folder_link.hpp"
#include "tests/support/scratch.hpp"
#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>

namespace troupe::easyscale {
namespace {

namespace fs = std::filesystem;

// Writes checkpoint after checkpoint until it is killed. In the child: no test macros.
[[noreturn]] void write_for_ever(const fs::path& root, std::uint64_t step) {
  for (;; ++step) {
    auto folder = CheckpointFolder::lock(root, std::chrono::seconds(10));
    if (!folder) ::_exit(3);
    const auto place = folder->place_for(step, [](const Manifest&) { return true; });
    if (!place) ::_exit(4);
    if (!*place) continue;
    const test::State state = test::make_state(step);
    if (!write_checkpoint(**place, test::about(step), state.layout, state.bytes, 3000)) ::_exit(5);
    if (!folder->retain(2, step)) ::_exit(6);
  }
}

// Kills a child that writes, after some microseconds.
void kill_a_writer(const fs::path& root, std::uint64_t step, long after_us) {
  const pid_t child = ::fork();
  if (child == 0) write_for_ever(root, step);
  const timespec pause{after_us / 1'000'000, after_us % 1'000'000 * 1000};
  ::nanosleep(&pause, nullptr);  // a moment of wall time is what is tested here
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
}

BOOST_AUTO_TEST_CASE(a_writer_killed_at_any_time_leaves_the_newest_whole_and_loses_none) {
  const char* long_run = std::getenv("TROUPE_LONG");
  const int rounds = long_run != nullptr && *long_run == '1' ? 2000 : 60;
  const char* asked = std::getenv("TROUPE_SEED");
  const unsigned seed = asked == nullptr ? 1 : static_cast<unsigned>(std::atoi(asked));
  BOOST_TEST_MESSAGE("replay with TROUPE_SEED=" << seed);
  std::mt19937 random(seed);
  const troupe::test::Scratch scratch;
  const auto begin = std::chrono::steady_clock::now();
  const test::State first = test::make_state(1);
  BOOST_REQUIRE(write_checkpoint(scratch / "one", test::about(1), first.layout, first.bytes, 3000));
  const std::chrono::microseconds takes = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  const fs::path root = scratch / "checkpoints";
  std::uint64_t newest = 0;
  for (int round = 0; round < rounds; ++round) {
    kill_a_writer(root, newest + 1, static_cast<long>(random() % (4 * takes.count() + 1000)));
    const auto found = latest_checkpoint(root);
    if (!found && newest == 0) continue;  // it had not come so far yet
    BOOST_REQUIRE_MESSAGE(found, troupe::test::why(found));
    BOOST_REQUIRE(found->manifest.step >= newest);
    newest = found->manifest.step;
    for (const Error& refused : found->refused) {  // unfinished: nothing is ever half there
      BOOST_TEST((refused.code == ErrorCode::not_found), refused.what);
    }
    const auto state = load_checkpoint(found->folder, found->manifest);
    BOOST_REQUIRE(state);
    BOOST_TEST((*state == test::make_state(newest).bytes));
  }
  BOOST_TEST(newest > 0U);
}

}  // namespace
}  // namespace troupe::easyscale
