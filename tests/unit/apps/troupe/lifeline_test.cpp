// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/lifeline.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

const Address host_at{"127.0.0.1", 7000};
const Address peer_at{"127.0.0.1", 7001};
const NodeId host{"host", 1};
const NodeId peer{"trainers-0", 2};
const Error why{ErrorCode::unavailable, "connection reset"};

PeerUp up(const NodeId& id, const Address& at) {
  PeerUp out;
  out.peer.id = id;
  out.peer.control = at;
  return out;
}

BOOST_AUTO_TEST_CASE(the_end_of_any_other_node_ends_nobody) {
  Lifeline launched(host_at, true);
  launched.on(up(host, host_at));
  launched.on(up(peer, peer_at));
  BOOST_TEST(!launched.on(PeerDown{peer, why}));
}

BOOST_AUTO_TEST_CASE(a_launched_node_ends_with_the_node_that_it_has_joined) {
  Lifeline launched(host_at, true);
  launched.on(up(host, host_at));
  BOOST_TEST(launched.on(PeerDown{host, why}).value_or("") ==
             "the host node is gone: connection reset");
  Lifeline other(host_at, false);
  other.on(up(host, host_at));
  BOOST_TEST(!other.on(PeerDown{host, why}));
}

}  // namespace
}  // namespace troupe
