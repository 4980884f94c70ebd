// SPDX-License-Identifier: Apache-2.0
#include "actors/net/record.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

namespace troupe {
namespace {

Record some_record() {
  Record record{RecordKind::challenge, {}, std::string(64, 'b')};
  record.mac.fill(std::byte{7});
  return record;
}

BOOST_AUTO_TEST_CASE(records_come_out_as_they_went_in_however_they_are_cut) {
  const auto bytes = encode_record(some_record()) + encode_record(some_record());
  std::string buffer;
  int taken = 0;
  for (const char byte : bytes) {
    buffer += byte;
    auto record = take_record(buffer);
    BOOST_REQUIRE(record);
    if (!*record) continue;
    ++taken;
    BOOST_TEST((*record)->body == some_record().body);
    BOOST_CHECK((*record)->kind == RecordKind::challenge);
    BOOST_CHECK((*record)->mac == some_record().mac);
  }
  BOOST_TEST(taken == 2);
  BOOST_TEST(buffer.empty());
}

BOOST_AUTO_TEST_CASE(another_protocol_is_found_out_from_its_first_bytes) {
  std::string http = "GET / HTTP/1.1\r\n";
  const auto record = take_record(http);
  BOOST_REQUIRE(!record);
  BOOST_CHECK(record.error().code == ErrorCode::corrupt);
}

BOOST_AUTO_TEST_CASE(another_protocol_version_is_named) {
  auto bytes = encode_record(some_record());
  bytes[4] = 9;
  const auto record = take_record(bytes);
  BOOST_REQUIRE(!record);
  BOOST_CHECK(record.error().code == ErrorCode::version_mismatch);
  BOOST_TEST(record.error().what.find("9") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_length_beyond_the_limit_is_refused_before_it_is_awaited) {
  auto bytes = encode_record(some_record()).substr(0, 12);
  bytes[10] = 0x7f;
  BOOST_TEST(!take_record(bytes));
}

BOOST_AUTO_TEST_CASE(random_bytes_never_do_harm) {
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    auto bytes = encode_record(some_record());
    for (int change = 0; change < 3; ++change)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(random() % (bytes.size() + 1));
    const auto size = bytes.size();
    const auto record = take_record(bytes);
    if (record && *record) BOOST_REQUIRE((*record)->body.size() <= size);
  }
}

}  // namespace
}  // namespace troupe
