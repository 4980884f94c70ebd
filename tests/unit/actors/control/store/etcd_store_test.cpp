// SPDX-License-Identifier: Apache-2.0
//
// What a store in etcd says when members are not there, do not answer, or are no etcd. What it does
// when all is well is in store_contract_test.
#include "actors/control/store/etcd_store.hpp"

#include "actors/control/store/base64.hpp"
#include "tests/support/etcd.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <thread>

namespace troupe {
namespace {

using test::why;
using Again = EtcdClient::Again;

std::unique_ptr<Store> store_at(std::vector<Address> members, const std::string& prefix = "/test",
                                EtcdLimits limits = {Millis(10000), Millis(20000)}) {
  return open_etcd_store(std::make_unique<EtcdClient>(std::move(members), limits), prefix);
}

bool says(const std::string& text, const std::string& words) {
  BOOST_TEST_MESSAGE(text);
  return text.find(words) != std::string::npos;
}

/// Listens, and does with each connection what the test says; nothing where it says nothing.
class Stranger {
 public:
  explicit Stranger(std::string answer = {}) : answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    BOOST_REQUIRE(::bind(socket_, raw, size) == 0 && ::listen(socket_, 16) == 0);
    BOOST_REQUIRE(::getsockname(socket_, raw, &size) == 0);
    address_ = {"127.0.0.1", ntohs(address.sin_port)};
    if (!answer_.empty()) thread_ = std::thread([this] { serve(); });
  }
  ~Stranger() {
    ::shutdown(socket_, SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
    ::close(socket_);
  }
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  void serve() const {
    for (;;) {
      // Not accept(): that is the accept gate's here, which one thread at a time may wait in.
      const int peer = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (peer < 0) return;
      char request[4096];
      if (::read(peer, request, sizeof request) > 0) {
        (void)!::write(peer, answer_.data(), answer_.size());
        ::shutdown(peer, SHUT_WR);
        while (::read(peer, request, sizeof request) > 0) {
        }
      }
      ::close(peer);
    }
  }

  std::string answer_;
  int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  Address address_;
  std::thread thread_;
};

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

Error error_of(const Stranger& stranger) {
  auto got = store_at({stranger.address()})->get("key");
  BOOST_REQUIRE(!got);
  return got.error();
}

BOOST_AUTO_TEST_CASE(members_that_are_not_there_are_all_named) {
  const auto ports = test::free_ports(2);
  const auto got = store_at({{"127.0.0.1", ports[0]}, {"localhost", ports[1]}})->get("key");
  BOOST_REQUIRE(!got);
  BOOST_CHECK(got.error().code == ErrorCode::unavailable);
  for (const auto& member :
       {"127.0.0.1:" + std::to_string(ports[0]), "localhost:" + std::to_string(ports[1])}) {
    BOOST_TEST(says(why(got), member + ": Connection refused"));
  }
}

BOOST_AUTO_TEST_CASE(a_member_that_does_not_answer_costs_a_limited_time) {
  const Stranger one;
  const Stranger other;
  const auto start = std::chrono::steady_clock::now();
  const auto got =
      store_at({one.address(), other.address()}, "/test", {Millis(300), Millis(1000)})->get("key");
  const auto took = std::chrono::steady_clock::now() - start;
  BOOST_REQUIRE(!got);
  BOOST_CHECK(got.error().code == ErrorCode::timeout);
  BOOST_TEST(says(why(got), to_string(one.address()) + ": no answer within 300 ms; " +
                                to_string(other.address()) + ": no answer within 300 ms"));
  BOOST_TEST((took >= Millis(600)));
  BOOST_TEST((took < Millis(5000)));
}

BOOST_AUTO_TEST_CASE(what_may_have_been_done_is_not_asked_again) {
  const Stranger silent;
  const Stranger other(http("200 OK", "{\"succeeded\":true}"));
  EtcdClient client({silent.address(), other.address()}, {Millis(100), Millis(400)});
  const auto said = client.post("/v3/kv/txn", nlohmann::json::object(), Again::no);
  BOOST_REQUIRE(!said);
  BOOST_TEST(
      says(why(said), "no answer within 400 ms; whether it did what was asked is not known"));

  const auto port = test::free_ports(1)[0];  // nothing was sent there, so the next may be asked
  EtcdClient second({{"127.0.0.1", port}, other.address()}, {Millis(10000), Millis(20000)});
  BOOST_TEST(second.post("/v3/kv/txn", nlohmann::json::object(), Again::no).has_value());
}

BOOST_AUTO_TEST_CASE(who_is_no_etcd_is_said_to_be_none) {
  for (const auto& answer : {http("404 Not Found", "404 page not found"), http("200 OK", "<html>"),
                             http("200 OK", "[]"), http("302 Found", "{}")}) {
    const Stranger stranger(answer);
    const auto error = error_of(stranger);
    BOOST_CHECK(error.code == ErrorCode::unavailable);
    BOOST_TEST(says(error.what,
                    to_string(stranger.address()) + ": no etcd with the version 3 JSON gateway"));
  }
  const Stranger babbler("SSH-2.0-OpenSSH_9.2\r\n");
  BOOST_TEST(says(error_of(babbler).what, to_string(babbler.address())));
}

BOOST_AUTO_TEST_CASE(what_etcd_refuses_keeps_its_words) {
  const Stranger full(
      http("429 Too Many Requests",
           R"({"error":"x","message":"etcdserver: mvcc: database space exceeded","code":8})"));
  const auto error = error_of(full);
  BOOST_CHECK(error.code == ErrorCode::resource_exhausted);
  BOOST_TEST(says(error.what, "etcd at " + to_string(full.address()) +
                                  ": etcdserver: mvcc: database space exceeded"));
  const Stranger leaderless(http("503 Service Unavailable",
                                 R"({"error":"x","message":"etcdserver: no leader","code":14})"));
  BOOST_TEST(says(error_of(leaderless).what, ": etcdserver: no leader): more than half"));
}

BOOST_AUTO_TEST_CASE(answers_that_make_no_sense_are_errors) {
  for (const auto* body :
       {R"({"succeeded":true})", R"({"succeeded":true,"kvs":[7]})", R"({"succeeded":"no"})",
        R"({"succeeded":true,"kvs":[{"key":"?","value":"?"}]})", R"({"responses":[]})",
        R"({"succeeded":true,"kvs":[{"mod_revision":"x"}],"error":null})"}) {
    const Stranger stranger(http("200 OK", body));
    auto store = store_at({stranger.address()});
    BOOST_TEST(!store->put("key", "value", {}).has_value(), body);
    BOOST_TEST(!store->acquire("singleton", "a/1", Millis(1000)).has_value(), body);
  }
}

BOOST_AUTO_TEST_CASE(another_format_below_the_prefix_is_refused, *test::if_etcd()) {
  test::EtcdCluster etcd(1, true);
  EtcdClient client(etcd.addresses());
  const nlohmann::json put = {{"key", to_base64("/newer/format")}, {"value", to_base64("2")}};
  BOOST_REQUIRE(client.post("/v3/kv/put", put, Again::yes).has_value());
  const auto refused = store_at(etcd.addresses(), "/newer")->get("key");
  BOOST_REQUIRE(!refused);
  BOOST_CHECK(refused.error().code == ErrorCode::version_mismatch);
  BOOST_TEST(says(why(refused), "what is below '/newer' is of format '2'"));

  auto one = store_at(etcd.addresses(), "/one");
  auto other = store_at(etcd.addresses(), "/other");
  BOOST_TEST(one->put("key", "value", {}).has_value());
  BOOST_TEST(!other->get("key").value());

  etcd.kill(0);
  const auto start = std::chrono::steady_clock::now();
  const auto lost = one->get("key");
  BOOST_REQUIRE(!lost);
  BOOST_TEST(says(why(lost), to_string(etcd.address(0)) + ": Connection refused"));
  BOOST_TEST((std::chrono::steady_clock::now() - start < Millis(5000)));
  etcd.start(0);
  BOOST_TEST(test::eventually([&] { return one->get("key").has_value(); }));
}

BOOST_AUTO_TEST_CASE(base64_is_that_of_the_rfc) {
  const std::vector<std::pair<std::string, std::string>> known = {{"", ""},
                                                                  {"f", "Zg=="},
                                                                  {"fo", "Zm8="},
                                                                  {"foo", "Zm9v"},
                                                                  {"foob", "Zm9vYg=="},
                                                                  {"fooba", "Zm9vYmE="},
                                                                  {"foobar", "Zm9vYmFy"},
                                                                  {"\xff\xfe\xfd", "//79"}};
  for (const auto& [bytes, text] : known) {
    BOOST_TEST(to_base64(bytes) == text);
    BOOST_TEST(from_base64(text).value() == bytes);
  }
  for (const auto* bad : {"Z", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9$", "Zm 9", "=Zg="}) {
    BOOST_TEST(!from_base64(bad).has_value(), bad);
  }
}

}  // namespace
}  // namespace troupe
