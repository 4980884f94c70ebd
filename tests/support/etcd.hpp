// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/control/store/etcd_client.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/wait.hpp"

#include <arpa/inet.h>
#include <boost/test/tree/decorator.hpp>
#include <fcntl.h>
#include <netinet/in.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

// A real etcd, Debian's, for tests: its members are child processes of the test.

namespace troupe::test {

constexpr const char* etcd_program = "/usr/bin/etcd";

[[nodiscard]] inline bool etcd_is_installed() { return ::access(etcd_program, X_OK) == 0; }

inline boost::test_tools::assertion_result ask_for_etcd(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result answer(etcd_is_installed());
  answer.message() << etcd_program << " is not installed (Debian: etcd-server)";
  return answer;
}

/// `* if_etcd()` on a test case: the report says that it was skipped, and why.
inline auto if_etcd() { return boost::unit_test::precondition(&ask_for_etcd); }

/// Ports that nobody listens on. They are held open together, so that they differ.
inline std::vector<std::uint16_t> free_ports(std::size_t count) {
  std::vector<int> sockets;
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < count; ++i) {
    sockets.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(sockets.back(), raw, size) != 0 || ::getsockname(sockets.back(), raw, &size) != 0) {
      throw std::runtime_error("no free port");
    }
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int socket : sockets) ::close(socket);
  return ports;
}

/// `size` members with empty data, all on loopback. The destructor kills those that run.
class EtcdCluster {
 public:
  /// Without `fast` the election time is etcd's own, 1 s; with it 0.1 s, which allows leases of 1
  /// s.
  explicit EtcdCluster(std::size_t size, bool fast = false) : fast_(fast) {
    const auto ports = free_ports(2 * size);
    for (std::size_t i = 0; i < size; ++i) {
      members_.push_back({ports[2 * i], ports[2 * i + 1], -1});
      peers_ += (i == 0 ? "" : ",") + name(i) + "=" + url(ports[2 * i + 1]);
    }
    for (std::size_t i = 0; i < size; ++i) start(i);
    if (!eventually([&] { return leader().has_value(); })) {
      throw std::runtime_error("etcd does not start; its log: " + (scratch_ / "log0").string());
    }
  }
  EtcdCluster(const EtcdCluster&) = delete;
  ~EtcdCluster() {
    for (std::size_t i = 0; i < members_.size(); ++i) kill(i);
  }

  void start(std::size_t i) {
    const auto& member = members_[i];
    std::vector<std::string> words = {etcd_program,
                                      "--name",
                                      name(i),
                                      "--data-dir",
                                      (scratch_ / name(i)).string(),
                                      "--listen-client-urls",
                                      url(member.port),
                                      "--advertise-client-urls",
                                      url(member.port),
                                      "--listen-peer-urls",
                                      url(member.peer_port),
                                      "--initial-advertise-peer-urls",
                                      url(member.peer_port),
                                      "--initial-cluster",
                                      peers_,
                                      "--initial-cluster-state",
                                      "new"};
    if (fast_) {
      for (const auto* word : {"--heartbeat-interval", "10", "--election-timeout", "100"}) {
        words.emplace_back(word);
      }
    }
    std::vector<char*> arguments;
    for (auto& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const auto log = scratch_ / ("log" + std::to_string(i));
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::execv(etcd_program, arguments.data());
      ::_exit(127);
    }
    members_[i].pid = pid;
  }

  void kill(std::size_t i) {
    if (members_[i].pid <= 0) return;
    ::kill(members_[i].pid, SIGKILL);
    ::waitpid(members_[i].pid, nullptr, 0);
    members_[i].pid = -1;
  }
  void signal(std::size_t i, int signal) { ::kill(members_[i].pid, signal); }

  [[nodiscard]] Address address(std::size_t i) const { return {"127.0.0.1", members_[i].port}; }
  [[nodiscard]] std::vector<Address> addresses() const {
    std::vector<Address> all;
    for (std::size_t i = 0; i < members_.size(); ++i) all.push_back(address(i));
    return all;
  }

  /// Which member leads, by what the members themselves say.
  [[nodiscard]] std::optional<std::size_t> leader() const {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      EtcdClient client({address(i)}, {Millis(500), Millis(500)});
      const auto said =
          client.post("/v3/maintenance/status", nlohmann::json::object(), EtcdClient::Again::yes);
      if (said && said->contains("leader") &&
          said->at("leader") == said->at("header")["member_id"]) {
        return i;
      }
    }
    return {};
  }

 private:
  struct Member {
    std::uint16_t port = 0;
    std::uint16_t peer_port = 0;
    pid_t pid = -1;
  };
  static std::string name(std::size_t i) { return "m" + std::to_string(i); }
  static std::string url(std::uint16_t port) { return "http://127.0.0.1:" + std::to_string(port); }

  bool fast_;
  Scratch scratch_;
  std::vector<Member> members_;
  std::string peers_;
};

}  // namespace troupe::test
