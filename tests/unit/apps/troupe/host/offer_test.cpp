// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/offer.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

doctor::HostFacts machine() {
  doctor::HostFacts facts;
  facts.cores = 8;
  facts.memory = 32_GiB;
  return facts;
}

BOOST_AUTO_TEST_CASE(a_node_offers_what_its_machine_has) {
  const auto offer = make_offer({"zone=a"}, {}, {}, machine());
  BOOST_TEST(offer.cpus == 8.0);
  BOOST_TEST(offer.memory.count == (32_GiB).count);
  BOOST_TEST(offer.labels == std::vector<std::string>{"zone=a"});
}

BOOST_AUTO_TEST_CASE(a_control_group_limits_the_offer) {
  auto facts = machine();
  facts.cpu_quota = 1.5;
  facts.memory_limit = 2_GiB;
  const auto offer = make_offer({}, {}, {}, facts);
  BOOST_TEST(offer.cpus == 1.5);
  BOOST_TEST(offer.memory.count == (2_GiB).count);
  facts.cpu_quota = 64;
  facts.memory_limit = 64_GiB;
  BOOST_TEST(make_offer({}, {}, {}, facts).cpus == 8.0);
  BOOST_TEST(make_offer({}, {}, {}, facts).memory.count == (32_GiB).count);
}

BOOST_AUTO_TEST_CASE(its_user_knows_better) {
  const auto offer = make_offer({}, 3.0, 1_GiB, machine());
  BOOST_TEST(offer.cpus == 3.0);
  BOOST_TEST(offer.memory.count == (1_GiB).count);
}

}  // namespace
}  // namespace troupe
