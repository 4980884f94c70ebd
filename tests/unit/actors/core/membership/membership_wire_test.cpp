// SPDX-License-Identifier: Apache-2.0
#include "actors/core/membership/membership_wire.hpp"

#include "actors/core/supervise/placement.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <limits>

namespace troupe {
namespace {

Gossip gossip() {
  return {{{"zone=a", "disk=ssd"}, 1.5, 2_GiB},
          true,
          {{{"a", 7}, {"10.0.0.1", 7070}, MemberState::alive},
           {{"b", 8}, {"fe80::1%eth0", 1}, MemberState::down}}};
}

BOOST_AUTO_TEST_CASE(news_arrive_as_they_were_sent) {
  BOOST_TEST((from_message(*to_message(gossip()).read()).value() == gossip()));
  BOOST_TEST((from_message(*to_message(Gossip{}).read()).value() == Gossip{}));
}

BOOST_AUTO_TEST_CASE(probes_arrive_as_they_were_sent) {
  for (const auto kind :
       {Probe::Kind::ask, Probe::Kind::ping, Probe::Kind::pong, Probe::Kind::reached}) {
    const Probe probe{kind, {"a", 1}, {"b", 2}};
    BOOST_TEST((from_message(*to_message(probe).read()).value() == probe));
  }
}

BOOST_AUTO_TEST_CASE(the_largest_news_fit_into_a_small_message) {
  Gossip largest;
  largest.offer.labels.assign(max_labels, "x=" + std::string(longest_label - 2, 'y'));
  largest.members.assign(Gossip::max_entries,
                         {{std::string(max_node_name, 'n'), 1}, {std::string(64, '1'), 1}});
  const auto message = to_message(largest);
  BOOST_TEST((from_message(*message.read()).value() == largest));
  BOOST_TEST(message.body().size() < 128u << 10);
}

BOOST_AUTO_TEST_CASE(what_no_node_says_is_refused) {
  const std::function<void(Gossip&)> spoil[] = {
      [](Gossip& g) { g.members.resize(Gossip::max_entries + 1, g.members[0]); },
      [](Gossip& g) { g.members[0].id.name = "a/b"; },
      [](Gossip& g) { g.members[0].id.name = ""; },
      [](Gossip& g) { g.members[0].control.host = ""; },
      [](Gossip& g) { g.members[0].control.host = std::string(65, '1'); },
      [](Gossip& g) { g.members[0].control.host = "\x1b[2J"; },
      [](Gossip& g) { g.members[0].state = static_cast<MemberState>(77); },
      [](Gossip& g) { g.offer.labels.assign(max_labels + 1, "a=b"); },
      [](Gossip& g) { g.offer.labels = {"a=" + std::string(longest_label, 'b')}; },
      [](Gossip& g) { g.offer.labels = {"no value"}; },
      [](Gossip& g) { g.offer.cpus = -1; },
      [](Gossip& g) { g.offer.cpus = std::numeric_limits<double>::quiet_NaN(); },
  };
  for (const auto& change : spoil) {
    auto bad = gossip();
    change(bad);
    const auto read = from_message(*to_message(bad).read());
    BOOST_REQUIRE(!read);
    BOOST_TEST((read.error().code == ErrorCode::corrupt));
  }
  BOOST_TEST(
      !from_message(*to_message(Probe{static_cast<Probe::Kind>(9), {"a", 1}, {"b", 1}}).read()));
  BOOST_TEST(!from_message(*to_message(Probe{Probe::Kind::ask, {"", 1}, {"b", 1}}).read()));
}

}  // namespace
}  // namespace troupe
