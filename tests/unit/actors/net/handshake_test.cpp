// SPDX-License-Identifier: Apache-2.0
#include "actors/net/handshake.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

namespace troupe {
namespace {

using Role = Handshake::Role;

Introduction introduction(const std::string& name, const std::string& version = "1.0") {
  Introduction mine;
  mine.info = {{name, 7}, {"127.0.0.1", 7000}, version, 3};
  mine.worker_address = "worker of " + name;
  mine.session = 42;
  return mine;
}

Record only_record(std::string bytes) {
  auto record = take_record(bytes);
  BOOST_REQUIRE(record);
  BOOST_REQUIRE(record->has_value());
  BOOST_TEST(bytes.empty());
  return std::move(**record);
}

/// Carries records between the two until one has an error or both are done.
struct Conversation {
  Handshake caller;
  Handshake called;
  std::optional<Error> caller_error = {};
  std::optional<Error> called_error = {};

  void run() {
    std::string to_called = caller.start();
    while (!to_called.empty()) {
      auto answer = called.take(only_record(to_called));
      if (!answer) {
        called_error = answer.error();
        answer = called.refusal(answer.error());
      }
      auto next = caller.take(only_record(*answer));
      if (!next) caller_error = next.error();
      to_called = next ? *next : "";
    }
  }
};

BOOST_AUTO_TEST_CASE(two_nodes_with_one_secret_learn_all_about_each_other) {
  const auto secret = ClusterSecret::random();
  Conversation talk{{Role::caller, secret, introduction("a")},
                    {Role::called, secret, introduction("b")}};
  talk.run();
  BOOST_TEST(talk.caller.done());
  BOOST_TEST(talk.called.done());
  BOOST_TEST(talk.caller.theirs().info.id.name == "b");
  BOOST_TEST(talk.called.theirs().worker_address == "worker of a");
  BOOST_TEST(talk.called.theirs().session == 42u);
  BOOST_TEST(talk.called.theirs().info.node_actor == 3u);
  BOOST_TEST((talk.called.theirs().info.role == NodeRole::host));
}

BOOST_AUTO_TEST_CASE(a_goodbye_is_an_orderly_end_or_says_why_the_other_side_is_not_wanted) {
  const auto secret = ClusterSecret::random();
  auto host = introduction("a");
  host.info.role = NodeRole::control;
  Conversation talk{{Role::caller, secret, host}, {Role::called, secret, introduction("b")}};
  talk.run();
  BOOST_TEST((talk.called.theirs().info.role == NodeRole::control));
  const auto orderly = talk.called.heard_goodbye(only_record(talk.caller.goodbye()));
  BOOST_REQUIRE(orderly);
  BOOST_TEST((orderly->code == ErrorCode::not_found));
  auto record = only_record(talk.caller.goodbye(Error{ErrorCode::aborted, "declared dead"}));
  const auto unwanted = talk.called.heard_goodbye(record);
  BOOST_REQUIRE(unwanted);
  BOOST_TEST((unwanted->code == ErrorCode::aborted));
  BOOST_TEST(unwanted->what == "declared dead");
  record.body.back() ^= 1;
  BOOST_TEST(!talk.called.heard_goodbye(record));
  BOOST_TEST(!talk.called.heard_goodbye(only_record(talk.caller.ping())));
}

BOOST_AUTO_TEST_CASE(both_sides_get_the_same_two_keys_and_every_connection_gets_others) {
  const auto secret = ClusterSecret::random();
  Conversation first{{Role::caller, secret, introduction("a")},
                     {Role::called, secret, introduction("b")}};
  Conversation second{{Role::caller, secret, introduction("a")},
                      {Role::called, secret, introduction("b")}};
  first.run();
  second.run();
  BOOST_TEST(equal_digests(first.caller.key_to_peer(), first.called.key_from_peer()));
  BOOST_TEST(equal_digests(first.caller.key_from_peer(), first.called.key_to_peer()));
  BOOST_TEST(!equal_digests(first.caller.key_to_peer(), first.caller.key_from_peer()));
  BOOST_TEST(!equal_digests(first.caller.key_to_peer(), second.caller.key_to_peer()));
}

BOOST_AUTO_TEST_CASE(a_sign_of_life_is_good_once_and_only_from_the_other_side) {
  const auto secret = ClusterSecret::random();
  Conversation talk{{Role::caller, secret, introduction("a")},
                    {Role::called, secret, introduction("b")}};
  talk.run();
  const auto first = only_record(talk.caller.ping());
  const auto second = only_record(talk.caller.ping());
  BOOST_TEST(talk.called.is_ping(first));
  BOOST_TEST(!talk.called.is_ping(first));
  BOOST_TEST(talk.called.is_ping(second));
  BOOST_TEST(!talk.caller.is_ping(only_record(talk.caller.ping())));
}

BOOST_AUTO_TEST_CASE(who_encrypts_and_who_does_not_do_not_meet) {
  const auto secret = ClusterSecret::random();
  auto encrypting = introduction("a");
  encrypting.encrypt = true;
  Conversation talk{{Role::caller, secret, encrypting}, {Role::called, secret, introduction("b")}};
  talk.run();
  BOOST_REQUIRE(talk.caller_error);
  BOOST_TEST(talk.caller_error->what.find("--encrypt") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(another_secret_is_named_as_the_cause_on_both_sides) {
  Conversation talk{{Role::caller, ClusterSecret::random(), introduction("a")},
                    {Role::called, ClusterSecret::random(), introduction("b")}};
  talk.run();
  BOOST_TEST(!talk.caller.done());
  BOOST_TEST(!talk.called.done());
  for (const auto& error : {talk.caller_error, talk.called_error}) {
    BOOST_REQUIRE(error);
    BOOST_CHECK(error->code == ErrorCode::permission_denied);
    BOOST_TEST(error->what.find("wrong cluster secret") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(another_program_version_is_refused_with_both_versions) {
  const auto secret = ClusterSecret::random();
  Conversation talk{{Role::caller, secret, introduction("a", "1.0")},
                    {Role::called, secret, introduction("b", "2.0")}};
  talk.run();
  BOOST_REQUIRE(talk.caller_error);
  BOOST_CHECK(talk.caller_error->code == ErrorCode::version_mismatch);
  BOOST_TEST(talk.caller_error->what ==
             "node b runs Troupe 2.0, node a runs 1.0: install the same version on both");
}

BOOST_AUTO_TEST_CASE(another_incarnation_than_the_expected_one_is_refused) {
  const auto secret = ClusterSecret::random();
  Conversation talk{{Role::caller, secret, introduction("a"), NodeId{"b", 6}},
                    {Role::called, secret, introduction("b")}};
  talk.run();
  BOOST_REQUIRE(talk.caller_error);
  BOOST_TEST(talk.caller_error->what == "node b/6 is gone; b/7 listens there now");
}

BOOST_AUTO_TEST_CASE(a_name_that_no_node_may_have_is_refused) {
  const auto secret = ClusterSecret::random();
  for (const std::string name : {"", "a/b", "a b", "a\n", "\x1b[2J", "\xc3\xa4"}) {
    Conversation talk{{Role::caller, secret, introduction(name)},
                      {Role::called, secret, introduction("b")}};
    talk.run();
    BOOST_REQUIRE(talk.called_error);
    BOOST_CHECK(talk.called_error->code == ErrorCode::corrupt);
  }
}

BOOST_AUTO_TEST_CASE(a_node_does_not_talk_to_itself) {
  const auto secret = ClusterSecret::random();
  Conversation talk{{Role::caller, secret, introduction("a")},
                    {Role::called, secret, introduction("a")}};
  talk.run();
  BOOST_REQUIRE(talk.called_error);
  BOOST_TEST(talk.called_error->what.find("own address") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_recorded_conversation_cannot_be_played_again) {
  const auto secret = ClusterSecret::random();
  Handshake caller(Role::caller, secret, introduction("a"));
  Handshake first(Role::called, secret, introduction("b"));
  const auto hello = only_record(caller.start());
  const auto challenge = first.take(hello);
  BOOST_REQUIRE(challenge);
  const auto proof = caller.take(only_record(*challenge));
  BOOST_REQUIRE(proof);

  Handshake second(Role::called, secret, introduction("b"));
  BOOST_TEST(bool(second.take(hello)));  // says nothing but its name and a fresh nonce
  BOOST_TEST(!second.take(only_record(*proof)));
  BOOST_TEST(!second.done());
}

BOOST_AUTO_TEST_CASE(a_record_sent_back_to_its_sender_proves_nothing) {
  const auto secret = ClusterSecret::random();
  Handshake caller(Role::caller, secret, introduction("a"));
  const auto hello = only_record(caller.start());
  BOOST_TEST(!caller.take(hello));
}

BOOST_AUTO_TEST_CASE(no_changed_byte_goes_unnoticed) {
  const auto secret = ClusterSecret::random();
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Handshake caller(Role::caller, secret, introduction("a"));
    Handshake called(Role::called, secret, introduction("b"));
    auto bytes = caller.start();
    const auto place =
        8 + random() % (bytes.size() - 8);  // magic and protocol have checks of their own
    bytes[place] = static_cast<char>(bytes[place] + 1 + random() % 255);
    const auto record = take_record(bytes);
    if (!record || !*record) continue;
    // Four reserved bytes stand outside the MAC.
    if (place >= 12 && place < 16) continue;
    BOOST_TEST_CONTEXT("byte " << place) { BOOST_REQUIRE(!called.take(**record)); }
  }
}

BOOST_AUTO_TEST_CASE(a_body_that_is_no_message_is_an_error_even_with_a_good_mac) {
  const auto secret = ClusterSecret::random();
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string body(8 * (random() % 20), '\0');
    for (auto& byte : body) byte = static_cast<char>(random());
    Handshake called(Role::called, secret, introduction("b"));
    const std::uint16_t kind = 1;
    const Digest nothing{};
    const auto mac =
        secret.mac({std::as_bytes(std::span(&kind, 1)), nothing, std::as_bytes(std::span(body))});
    BOOST_REQUIRE(!called.take({RecordKind::hello, mac, body}));
  }
}

}  // namespace
}  // namespace troupe
