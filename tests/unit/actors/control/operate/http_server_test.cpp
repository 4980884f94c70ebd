// SPDX-License-Identifier: Apache-2.0
#include "actors/control/operate/http_server.hpp"

#include "actors/base/fd.hpp"
#include "actors/control/operate/node_metrics.hpp"
#include "tests/support/why.hpp"

#include <arpa/inet.h>
#include <boost/test/unit_test.hpp>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace troupe {
namespace {

std::unique_ptr<HttpServer> serve() {
  auto server = HttpServer::start({"127.0.0.1", 0}, [](const std::string& path) {
    return path == "/hello" ? HttpAnswer{200, "world\n"} : HttpAnswer{404, "no\n"};
  });
  BOOST_TEST_REQUIRE(server.has_value(), test::why(server));
  return std::move(*server);
}

Fd call(const HttpServer& server) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(server.address().port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{20, 0};
  ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  BOOST_REQUIRE(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  return fd;
}

std::string say(const Fd& fd, const std::string& words) {
  (void)::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL);
  return read_all(fd.get(), 1 << 20).value_or("(no end)");
}

BOOST_AUTO_TEST_CASE(answers_what_it_was_told_to_and_closes) {
  const auto server = serve();
  const auto answer = say(call(*server), "GET /hello?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  BOOST_TEST(answer.find("HTTP/1.1 200 OK\r\n") == 0u);
  BOOST_TEST(answer.find("Content-Length: 6\r\n") != std::string::npos);
  BOOST_TEST(answer.substr(answer.size() - 10) == "\r\n\r\nworld\n");
  BOOST_TEST(say(call(*server), "GET /x HTTP/1.1\r\n\r\n").find("HTTP/1.1 404") == 0u);
}

BOOST_AUTO_TEST_CASE(a_head_request_gets_no_body_and_others_than_get_are_refused) {
  const auto server = serve();
  const auto head = say(call(*server), "HEAD /hello HTTP/1.1\r\n\r\n");
  BOOST_TEST(head.find("200 OK") != std::string::npos);
  BOOST_TEST(head.find("world") == std::string::npos);
  BOOST_TEST(say(call(*server), "DELETE /hello HTTP/1.1\r\n\r\n").find("HTTP/1.1 405") == 0u);
}

BOOST_AUTO_TEST_CASE(nonsense_and_what_is_too_long_end_the_connection_only) {
  const auto server = serve();
  for (const auto& words :
       {std::string("nonsense\r\n\r\n"), std::string(100000, 'x'), std::string("\0\xff", 2),
        "GET /hello HTTP/1.1\r\nX: " + std::string(20000, 'x') + "\r\n\r\n",
        std::string("POST /hello HTTP/1.1\r\nContent-Length: 9000000\r\n\r\n")}) {
    const auto fd = call(*server);
    (void)::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL);
    ::shutdown(fd.get(), SHUT_WR);
    BOOST_TEST(read_all(fd.get(), 1 << 20).value_or("").find("200 OK") == std::string::npos);
  }
  BOOST_TEST(say(call(*server), "GET /hello HTTP/1.1\r\n\r\n").find("200 OK") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(who_holds_all_connections_keeps_nobody_out_for_ever) {
  const auto server = serve();
  std::vector<Fd> idle;
  for (std::size_t i = 0; i < HttpServer::most_connections + 5; ++i) idle.push_back(call(*server));
  // One too many is closed without an answer.
  BOOST_TEST(read_all(idle.back().get(), 10).value_or("") == "");
  idle.erase(idle.begin(), idle.begin() + 8);  // some give up
  bool answered = false;
  for (int tries = 0; tries < 1000 && !answered; ++tries) {
    answered =
        say(call(*server), "GET /hello HTTP/1.1\r\n\r\n").find("200 OK") != std::string::npos;
  }
  BOOST_TEST(answered);
}

BOOST_AUTO_TEST_CASE(a_port_in_use_is_an_error_that_names_it) {
  const auto server = serve();
  const auto second = HttpServer::start(server->address(), {});
  BOOST_REQUIRE(!second);
  BOOST_CHECK(second.error().code == ErrorCode::already_exists);
  BOOST_TEST(second.error().what.find(to_string(server->address())) != std::string::npos);
  BOOST_TEST(!HttpServer::start({"not a number", 1}, {}));
}

BOOST_AUTO_TEST_CASE(metrics_tell_states_restarts_and_rates) {
  ActorTable table;
  const ActorTable::Time start{std::chrono::seconds(100)};
  for (const auto* path : {"/jobs/j/w/0", "/jobs/j/w/1"}) {
    table.expect({path, "worker", "/jobs/j", "permanent"}, start);
    table.up({path, {}, {}, 1}, start);
  }
  table.expect({"/jobs/j/\"odd\"", "worker", "/jobs/j", "permanent"}, start);
  table.down("/jobs/j/w/1", {ErrorCode::internal, "boom"}, true, start);
  table.up({"/nodes/m", {}, {}, 0}, start);
  table.stepped("/jobs/j/w/0", 1, start);
  table.stepped("/jobs/j/w/0", 21, start + std::chrono::seconds(2));
  const auto text = metrics_text(table, {"n", "0.1.0", std::chrono::milliseconds(1500), true},
                                 start + std::chrono::seconds(2));
  for (const auto* line :
       {"troupe_node_info{node=\"n\",version=\"0.1.0\"} 1\n", "troupe_node_up_seconds 1.5",
        "troupe_node_ready 1\n", "troupe_other_nodes 1\n", "troupe_actors{state=\"running\"} 1\n",
        "troupe_actors{state=\"starting\"} 1\n", "troupe_actors{state=\"restarting\"} 1\n",
        "troupe_actors{state=\"waiting\"} 0\n", "troupe_actor_restarts_total 1\n",
        "troupe_actor_failures_total 1\n", "troupe_steps_per_second{path=\"/jobs/j/w/0\"} 10\n",
        "# TYPE troupe_actor_restarts_total counter\n"}) {
    BOOST_TEST(text.find(line) != std::string::npos, line << " in " << text);
  }
}

}  // namespace
}  // namespace troupe
