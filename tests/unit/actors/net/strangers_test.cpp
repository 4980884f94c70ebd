// SPDX-License-Identifier: Apache-2.0
#include "actors/net/strangers.hpp"

#include "actors/net/control_connection.hpp"
#include "actors/net/ucx_transport.hpp"
#include "actors/net/ucx_worker.hpp"
#include "tests/support/recording_handler.hpp"
#include "tests/support/wait.hpp"

#include <boost/test/unit_test.hpp>
#include <netinet/in.h>

#include <vector>

namespace troupe {
namespace {

const bool environment_is_set = (UcxWorker::set_environment(true), true);

/// `limit` strangers with descriptors 0, 1, ...: so many of each origin.
Strangers full_of(std::size_t of_each_origin) {
  Strangers strangers;
  for (std::size_t i = 0; i < Strangers::limit; ++i) {
    strangers.add(static_cast<int>(i), std::to_string(i / of_each_origin));
  }
  return strangers;
}

BOOST_AUTO_TEST_CASE(nobody_gives_way_while_there_is_room) {
  Strangers strangers;
  BOOST_CHECK(!strangers.victim());
  BOOST_CHECK(!strangers.least_wanted());
  strangers.add(3, "x");
  BOOST_CHECK(!strangers.victim());
  BOOST_CHECK(strangers.least_wanted() == 3);
}

BOOST_AUTO_TEST_CASE(the_oldest_that_has_said_nothing_gives_way) {
  auto strangers = full_of(Strangers::limit);
  BOOST_CHECK(strangers.victim() == 0);
  strangers.greeted(0);
  strangers.greeted(1);
  BOOST_CHECK(strangers.victim() == 2);
}

BOOST_AUTO_TEST_CASE(where_all_have_greeted_the_oldest_gives_way) {
  auto strangers = full_of(Strangers::limit);
  for (int fd = 0; fd < static_cast<int>(Strangers::limit); ++fd) strangers.greeted(fd);
  BOOST_CHECK(strangers.victim() == 0);
}

BOOST_AUTO_TEST_CASE(a_crowded_origin_gives_way_even_if_its_strangers_have_greeted) {
  auto strangers = full_of(Strangers::share);  // nobody has more than a share
  for (int fd = 100; fd < 150; ++fd) {
    strangers.remove(fd);
    strangers.add(fd, "crowd");
    strangers.greeted(fd);
  }
  BOOST_CHECK(strangers.victim() == 100);
}

BOOST_AUTO_TEST_CASE(who_has_gone_counts_no_more) {
  auto strangers = full_of(1);
  strangers.remove(7);
  strangers.remove(7);
  BOOST_CHECK(!strangers.victim());
  BOOST_TEST(strangers.count() == Strangers::limit - 1);
}

BOOST_AUTO_TEST_CASE(the_origin_of_an_ipv6_address_is_its_network) {
  sockaddr_storage a{};
  sockaddr_storage b{};
  for (auto* address : {&a, &b}) {
    address->ss_family = AF_INET6;
    reinterpret_cast<sockaddr_in6*>(address)->sin6_addr.s6_addr[0] = 0x20;
  }
  reinterpret_cast<sockaddr_in6&>(b).sin6_addr.s6_addr[15] = 1;
  BOOST_TEST(origin_of(a) == origin_of(b));
  reinterpret_cast<sockaddr_in6&>(b).sin6_addr.s6_addr[7] = 1;
  BOOST_TEST(origin_of(a) != origin_of(b));
}

BOOST_AUTO_TEST_CASE(silent_connections_keep_no_member_out) {
  const auto secret = ClusterSecret::random();
  test::RecordingHandler at_a;
  test::RecordingHandler at_b;
  const auto a = make_ucx_transport({{"a", 1}, "1", 1, {"127.0.0.1", 0}, secret});
  const auto b = make_ucx_transport({{"b", 2}, "1", 1, {"127.0.0.1", 0}, secret});
  BOOST_REQUIRE(a->start(at_a));
  const auto b_info = b->start(at_b).value();
  std::vector<Fd> silent;
  for (int i = 0; i < 400; ++i) {  // each takes two of this process's descriptors
    auto fd = begin_connect(b_info.control);
    BOOST_REQUIRE(fd);
    silent.push_back(std::move(*fd));
  }
  a->connect(b_info.control, b_info.id);
  BOOST_TEST(test::eventually([&] { return at_b.log().up.size() == 1; }, std::chrono::seconds(2)));
  BOOST_TEST(at_a.log().failed.empty());
}

}  // namespace
}  // namespace troupe
