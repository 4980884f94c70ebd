// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/host/joining.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

const Address first{"127.0.0.1", 7000};
const Address second{"127.0.0.1", 7001};
const Error refused{ErrorCode::not_found, "connection refused"};
const Error wrong_secret{ErrorCode::permission_denied, "wrong cluster secret"};

PeerUp up(NodeRole role) {
  PeerUp out;
  out.peer.role = role;
  return out;
}

BOOST_AUTO_TEST_CASE(a_node_that_cannot_be_reached_is_called_again_and_then_given_up) {
  Joining joining({first}, 3);
  const auto once = joining.on(ConnectFailed{first, refused});
  BOOST_TEST(!once.give_up);
  BOOST_TEST(once.again.value().count() == 500);
  BOOST_TEST(joining.on(ConnectFailed{first, refused}).again.value().count() == 1000);
  const auto last = joining.on(ConnectFailed{first, refused});
  BOOST_TEST(last.give_up.value() ==
             "cannot join 127.0.0.1:7000: connection refused (tried 3 times); start a node there "
             "first, or wait for it with --join-retry");
}

BOOST_AUTO_TEST_CASE(what_more_tries_cannot_change_ends_at_once) {
  Joining joining({first}, std::nullopt);
  BOOST_TEST(joining.on(ConnectFailed{first, wrong_secret}).give_up.value() ==
             "cannot join 127.0.0.1:7000: wrong cluster secret");
}

BOOST_AUTO_TEST_CASE(without_a_limit_it_tries_for_ever) {
  Joining joining({first}, std::nullopt);
  Joining::Next next;
  for (int i = 0; i < 100; ++i) next = joining.on(ConnectFailed{first, refused});
  BOOST_TEST(!next.give_up);
  BOOST_TEST(next.again.value().count() == Joining::longest_pause.count());
}

BOOST_AUTO_TEST_CASE(one_of_several_is_enough) {
  Joining joining({first, second}, 1);
  BOOST_TEST(!joining.on(ConnectFailed{first, refused}).give_up);
  BOOST_TEST(joining.on(ConnectFailed{second, refused}).give_up.has_value());
  Joining other({first, second}, 1);
  BOOST_TEST(!other.on(ConnectFailed{first, refused}).give_up);
  other.on(up(NodeRole::control));
  BOOST_TEST(!other.on(ConnectFailed{second, refused}).give_up);
}

BOOST_AUTO_TEST_CASE(calls_to_others_do_not_count) {
  Joining joining({first}, 1);
  BOOST_TEST(!joining.on(ConnectFailed{second, refused}).give_up);
  joining.on(up(NodeRole::client));
  BOOST_TEST(joining.on(ConnectFailed{first, refused}).give_up.has_value());
}

}  // namespace
}  // namespace troupe
