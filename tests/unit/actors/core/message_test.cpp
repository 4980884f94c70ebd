// SPDX-License-Identifier: Apache-2.0
#include "actors/core/message.hpp"

#include "actors/core/message_types.hpp"
#include "messages/common.capnp.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace troupe {
namespace {

using Note = Msg<msg::Address>;

Note note(const std::string& host) {
  return Note::build([&](msg::Address::Builder to) {
    to.setHost(host);
    to.setPort(7);
  });
}

std::vector<std::byte> bytes_of(const Note& note) {
  const auto bytes = note.body().bytes();
  return {bytes.begin(), bytes.end()};
}

bool can_be_read(const std::vector<std::byte>& body) {
  try {
    (void)MessageView<msg::Address>(body);
    return true;
  } catch (const kj::Exception&) {
    return false;
  }
}

BOOST_AUTO_TEST_CASE(a_message_of_any_size_reads_as_it_was_built) {
  for (const std::size_t size : {0u, 1u, 100u, 400u, 511u, 512u, 5000u, 1000000u}) {
    const std::string host(size, 'x');
    const auto built = note(host);
    BOOST_REQUIRE(built.body().size() % 8 == 0);
    BOOST_REQUIRE(built.read()->getHost() == host.c_str());
    BOOST_REQUIRE(built.read()->getPort() == 7);
  }
}

BOOST_AUTO_TEST_CASE(a_small_message_is_one_segment_and_is_told_so_by_looking) {
  BOOST_TEST(has_plain_root(note("here").body().bytes()));
  BOOST_TEST(has_plain_root(Note::build([](auto) {}).body().bytes()));
  BOOST_TEST(!has_plain_root({}));
}

BOOST_AUTO_TEST_CASE(what_looks_plain_can_be_read) {
  const auto good = bytes_of(note("here"));
  std::mt19937_64 random(1);
  int plain = 0;
  int broken = 0;
  for (int i = 0; i < 200000; ++i) {
    auto body = good;
    if (random() % 4 == 0) body.resize(random() % (good.size() + 1));
    for (auto changes = random() % 4; changes > 0 && !body.empty(); --changes) {
      const auto at = random() % std::min<std::size_t>(body.size(), 24);
      body[at] = random() % 2 == 0 ? static_cast<std::byte>(random())
                                   : body[at] ^ static_cast<std::byte>(1u << random() % 8);
    }
    const bool looks_plain = has_plain_root(body);
    const bool readable = can_be_read(body);
    BOOST_REQUIRE(!looks_plain || readable);
    plain += looks_plain;
    broken += !readable;
  }
  BOOST_TEST(plain > 10000);
  BOOST_TEST(broken > 10000);
}

BOOST_AUTO_TEST_CASE(a_body_that_cannot_be_one_is_refused_before_an_actor_gets_it) {
  MessageTypes types;
  types.add<msg::Address>();
  const auto* type = types.find(typeid(Note));
  BOOST_REQUIRE(type != nullptr);
  BOOST_TEST(types.find(type->id)->make == type->make);
  BOOST_TEST(types.find(typeid(int)) == nullptr);
  const auto good = note("here");
  const auto element = type->make(nullptr, caf::make_message_id(), good.body(), {}, {});
  BOOST_REQUIRE(element->content().match_elements<Note>());
  BOOST_TEST(element->content().get_as<Note>(0).body().data() == good.body().data());
  auto far_away = bytes_of(good);
  const std::uint64_t root = 1000u << 2 | std::uint64_t{1} << 32;  // a struct beyond the end
  std::memcpy(far_away.data() + 8, &root, sizeof root);
  BOOST_CHECK_THROW(
      (void)type->make(nullptr, caf::make_message_id(), Slice::own(far_away), Slice(), {}),
      kj::Exception);
}

}  // namespace
}  // namespace troupe
