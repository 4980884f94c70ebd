// SPDX-License-Identifier: Apache-2.0
#include "actors/net/accept_gate.hpp"

#include "actors/net/control_connection.hpp"
#include "actors/net/ucx_worker.hpp"

#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <set>
#include <thread>

namespace troupe {
namespace {

const bool environment_is_set = (UcxWorker::set_environment(true), true);

std::set<std::uint16_t> listening_ports() {
  std::set<std::uint16_t> ports;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int listens = 0;
    socklen_t length = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || listens == 0) {
      continue;
    }
    sockaddr_in address{};
    length = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    ports.insert(ntohs(address.sin_port));
  }
  return ports;
}

/// UCX with its data port, behind the gate.
struct Guarded {
  Guarded() {
    const auto others = listening_ports();
    const accept_gate::Snapshot before;
    worker =
        UcxWorker::make({[](auto, auto) { return nullptr; }, [](auto, auto) {}, [](auto, auto) {}})
            .value();
    BOOST_REQUIRE(before.guard_since() > 0);
    for (const auto found : listening_ports()) {
      if (!others.contains(found)) port = found;
    }
    BOOST_REQUIRE(port != 0);
  }

  std::unique_ptr<UcxWorker> worker;
  std::uint16_t port = 0;
};

/// What stock UCX 1.13 aborts on: its magic number, then a length that makes no sense.
std::string killer() {
  const std::uint64_t magic = 0xCAFEBABE12345678;
  std::string packet(reinterpret_cast<const char*>(&magic), sizeof magic);
  return packet + std::string(77 - packet.size(), '\xee');
}

/// Sends bytes to the port as user `uid`, in a process of its own. True: the other side closed the
/// connection without taking anything.
bool is_turned_away(std::uint16_t port, const std::string& bytes, unsigned uid) {
  const auto child = ::fork();
  if (child == 0) {
    if (uid != ::geteuid() && ::setuid(uid) != 0) ::_exit(9);
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{2, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) ::_exit(8);
    (void)::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char answer = 0;
    const auto got = ::recv(fd, &answer, 1, 0);
    ::_exit(got == 0 || (got < 0 && errno == ECONNRESET) ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  BOOST_REQUIRE(WIFEXITED(status));
  BOOST_REQUIRE(WEXITSTATUS(status) <= 1);
  return WEXITSTATUS(status) == 0;
}

BOOST_AUTO_TEST_CASE(a_process_of_another_user_is_turned_away_before_ucx_reads_a_byte) {
  if (::geteuid() != 0) {
    BOOST_TEST_MESSAGE("skipped: only root can be another user");
    return;
  }
  const Guarded guarded;
  const auto before = accept_gate::refused();
  for (int i = 0; i < 5; ++i) BOOST_TEST(is_turned_away(guarded.port, killer(), 65534));
  BOOST_TEST(accept_gate::refused() == before + 5);
}

BOOST_AUTO_TEST_CASE(a_process_of_our_own_user_gets_through) {
  const Guarded guarded;
  const auto before = accept_gate::refused();
  BOOST_TEST(!is_turned_away(guarded.port, "", ::geteuid()));
  BOOST_TEST(accept_gate::refused() == before);
}

BOOST_AUTO_TEST_CASE(sockets_that_are_not_ucxs_are_left_alone) {
  const auto listener = listen_on({"127.0.0.1", 0}).value();
  const auto client = begin_connect(listener.address).value();
  int accepted = -1;
  while (accepted < 0) accepted = ::accept(listener.fd.get(), nullptr, nullptr);
  BOOST_TEST(accepted >= 0);
  ::close(accepted);
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_connection_keeps_nobody_else_waiting) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM, 0));  // accept() blocks on this one
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  BOOST_REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), length) == 0);
  BOOST_REQUIRE(::listen(listener.get(), 1) == 0);
  BOOST_REQUIRE(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &length) == 0);
  const Guarded guarded;  // so that accept() asks the gate
  std::atomic<int> accepted{-1};
  std::thread waiting([&] { accepted = ::accept(listener.get(), nullptr, nullptr); });
  // The gate is free at any time while the other waits: 100 uses spread over its way in.
  std::promise<void> used;
  std::thread using_it([&] {
    for (int i = 0; i < 100; ++i) {
      accept_gate::let_in("192.0.2.1");
      accept_gate::keep_out("192.0.2.1");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    used.set_value();
  });
  const bool free =
      used.get_future().wait_for(std::chrono::seconds(5)) == std::future_status::ready;
  const auto client = begin_connect({"127.0.0.1", ntohs(at.sin_port)}).value();
  waiting.join();
  using_it.join();
  BOOST_TEST(free);
  BOOST_TEST(accepted >= 0);
  ::close(accepted);
}

}  // namespace
}  // namespace troupe
