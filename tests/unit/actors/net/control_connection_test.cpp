// SPDX-License-Identifier: Apache-2.0
#include "actors/net/control_connection.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <string>

namespace troupe {
namespace {

Introduction introduction(const std::string& name) {
  return {{{name, 1}, {"127.0.0.1", 1}, "1", 1}, "worker address", 1, false};
}

int unread(int fd) {
  int bytes = 0;
  BOOST_REQUIRE(::ioctl(fd, FIONREAD, &bytes) == 0);
  return bytes;
}

BOOST_AUTO_TEST_CASE(a_peer_that_never_stops_talking_is_heard_in_turns) {
  int fds[2];
  BOOST_REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) == 0);
  const Fd talker(fds[0]);
  const auto secret = ClusterSecret::random();
  Handshake caller(Handshake::Role::caller, secret, introduction("caller"));
  ControlConnection called(Fd(fds[1]),
                           Handshake(Handshake::Role::called, secret, introduction("called")), {},
                           ControlConnection::Clock::time_point::max());
  const auto say = [&](const std::string& bytes) {
    const auto sent = ::send(talker.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return sent == static_cast<ssize_t>(bytes.size());
  };
  std::string heard;
  BOOST_REQUIRE(say(caller.start()));
  while (!caller.done()) {
    BOOST_REQUIRE(called.on_readable());
    BOOST_TEST(unread(talker.get()) == 0);  // its owner has a look first
    BOOST_REQUIRE(called.on_writable());
    char chunk[4096];
    const auto got = ::recv(talker.get(), chunk, sizeof chunk, 0);
    BOOST_REQUIRE(got > 0);
    heard.append(chunk, static_cast<std::size_t>(got));
    const auto record = take_record(heard);
    BOOST_REQUIRE(record.value());
    const auto answer = caller.take(**record);
    BOOST_REQUIRE(answer);
    BOOST_REQUIRE(say(*answer));
  }
  const auto limit = static_cast<std::size_t>(ControlConnection::chunks_at_once) * 8192;
  std::string pings;
  while (pings.size() <= limit) pings += caller.ping();
  BOOST_REQUIRE(say(pings));
  BOOST_REQUIRE(called.on_readable());
  BOOST_TEST(unread(called.fd()) > 0);
  BOOST_REQUIRE(called.on_readable());
  BOOST_TEST(unread(called.fd()) == 0);
  // What was taken in two turns is whole.
  BOOST_REQUIRE(say(caller.ping()));
  BOOST_TEST(bool(called.on_readable()));
}

}  // namespace
}  // namespace troupe
