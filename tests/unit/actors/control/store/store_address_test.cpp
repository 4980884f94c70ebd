// SPDX-License-Identifier: Apache-2.0
#include "actors/control/store/store_address.hpp"

#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

BOOST_AUTO_TEST_CASE(addresses_are_read_and_written) {
  const auto file = parse_store_address("sqlite:state/store").value();
  BOOST_TEST(file.file == "state/store");
  BOOST_TEST(file.members.empty());
  BOOST_TEST(to_string(file) == "sqlite:state/store");

  const auto etcd = parse_store_address("etcd://db1:2379,10.0.0.2:2380,[::1]:2379").value();
  BOOST_CHECK(
      (etcd.members == std::vector<Address>{{"db1", 2379}, {"10.0.0.2", 2380}, {"::1", 2379}}));
  BOOST_TEST(etcd.prefix == "/troupe");
  BOOST_TEST(to_string(etcd) == "etcd://db1:2379,10.0.0.2:2380,[::1]:2379/troupe");
  BOOST_CHECK(parse_store_address(to_string(etcd)).value() == etcd);
  BOOST_TEST(parse_store_address("etcd://db1:2379/a/b").value().prefix == "/a/b");
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused_with_the_reason) {
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"", "neither"},
      {"store.db", "neither"},
      {"http://db1:2379", "neither"},
      {"sqlite:", "no name"},
      {"sqlite:state/", "no name"},
      {"etcd://", "'' is not HOST:PORT"},
      {"etcd://db1", "'db1' is not HOST:PORT"},
      {"etcd://db1:0", "'db1:0' is not HOST:PORT"},
      {"etcd://db1:65536", "'db1:65536' is not HOST:PORT"},
      {"etcd://db1:2379x", "'db1:2379x' is not HOST:PORT"},
      {"etcd://:2379", "':2379' is not HOST:PORT"},
      {"etcd://::1:2379", "'::1:2379' is not HOST:PORT"},
      {"etcd://db1:2379,", "'' is not HOST:PORT"},
      {"etcd://db1:2379,db1:2379", "named twice"},
      {"etcd://db1:2379/", "prefix"},
      {"etcd://db1:2379/a b", "prefix"}};
  for (const auto& [text, reason] : bad) {
    const auto address = parse_store_address(text);
    BOOST_TEST(!address, text);
    BOOST_TEST(test::why(address).find(reason) != std::string::npos, test::why(address));
    BOOST_TEST(test::why(address).find("etcd://HOST:PORT") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(a_store_is_opened_by_its_address) {
  const test::Scratch scratch;
  auto store = open_store({.file = scratch / "store"});
  BOOST_REQUIRE_MESSAGE(store, test::why(store));
  BOOST_TEST((*store)->put("key", "value", {}).has_value());
  auto etcd = open_store(parse_store_address("etcd://127.0.0.1:9/troupe").value());
  BOOST_REQUIRE(etcd.has_value());  // asks nothing yet
  BOOST_TEST(test::why((*etcd)->get("key")).find("127.0.0.1:9: ") != std::string::npos);
}

}  // namespace
}  // namespace troupe
