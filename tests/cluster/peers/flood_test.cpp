// SPDX-License-Identifier: Apache-2.0
//
// Ten million messages to a process whose reader has stopped: both processes keep what credits and
// backlog allow, the sender is told of every message that was not taken, and every one that was
// taken arrives in order when the reader goes on.
#include "actors/net/ucx_transport.hpp"
#include "actors/net/ucx_worker.hpp"
#include "actors/net/wire/backlog.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/recording_handler.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <sstream>

namespace troupe {
namespace {

using test::ChildProcess;
using test::eventually;
using test::resident_bytes;
constexpr std::uint64_t messages = 10'000'000;
constexpr std::size_t targets = 16;
constexpr std::size_t body_bytes = 64;
const bool environment_is_set = (UcxWorker::set_environment(true), true);

/// What a kept message costs at most, on either side: its bytes, and what it takes to keep them.
constexpr std::size_t cost = 512;
constexpr std::size_t slack = std::size_t{8} << 20;

PeerInfo reader_of(ChildProcess& child) {
  std::istringstream words(child.ask("reader"));
  PeerInfo info;
  words >> info.id.name >> info.id.incarnation >> info.control.host >> info.control.port;
  return info;
}

/// Sends all messages; the number of each is how many its target was sent before, so that one that
/// is not taken leaves no gap. Gives how many were taken, and looks at the memory on the way.
std::uint64_t flood(Transport& transport, const NodeId& to, const std::function<void()>& look) {
  std::array<std::uint64_t, targets> next{};
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < messages; ++i) {
    Frame frame;
    frame.header.target = 1 + i % targets;
    frame.header.message_id = next[i % targets];
    frame.body = Slice::own(std::vector<std::byte>(body_bytes));
    if (transport.send(to, std::move(frame))) {
      ++next[i % targets];
      ++taken;
    }
    if (i % (1 << 16) == 0) look();
  }
  look();
  return taken;
}

BOOST_AUTO_TEST_CASE(ten_million_messages_to_a_reader_that_has_stopped_take_bounded_memory) {
  const auto secret = ClusterSecret::random();
  ChildProcess child(TROUPE_TEST_PEER);
  child.tell(secret.text());
  const auto reader = reader_of(child);
  test::RecordingHandler at_sender;
  const auto sender =
      make_ucx_transport({{"sender", random_number()}, "1", 1, {"127.0.0.1", 0}, secret});
  BOOST_REQUIRE(sender->start(at_sender));
  sender->connect(reader.control, reader.id);
  BOOST_REQUIRE(eventually([&] { return !at_sender.log().up.empty(); }));
  const auto seen = [&] { return child.ask("seen"); };

  const CreditWindow window;
  const auto most_read = targets * window.messages;
  const auto most_waiting = Backlog::max_frames;
  const auto here = resident_bytes(::getpid());
  const auto there = resident_bytes(child.pid());
  std::size_t peak_here = here;
  std::size_t peak_there = there;
  const auto begin = std::chrono::steady_clock::now();
  const auto taken = flood(*sender, reader.id, [&] {
    peak_here = std::max(peak_here, resident_bytes(::getpid()));
    peak_there = std::max(peak_there, resident_bytes(child.pid()));
  });
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  BOOST_TEST_MESSAGE(messages << " messages in " << took.count() << " s, " << taken
                              << " taken; sender +" << ((peak_here - here) >> 10)
                              << " KiB, reader +" << ((peak_there - there) >> 10) << " KiB");
  BOOST_TEST(taken >= most_waiting);
  BOOST_TEST(taken <= most_waiting + most_read);
  BOOST_REQUIRE(eventually([&] { return seen() == std::to_string(most_read); }));
  BOOST_TEST(peak_here - here < (most_waiting + most_read) * cost + slack);
  BOOST_TEST(peak_there - there < most_read * cost + slack);

  BOOST_TEST(child.ask("resume") == "ok");
  BOOST_TEST(eventually([&] { return seen() == std::to_string(taken); }), seen());
  BOOST_TEST(at_sender.log().down.empty());
}

}  // namespace
}  // namespace troupe
