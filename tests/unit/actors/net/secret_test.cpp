// SPDX-License-Identifier: Apache-2.0
#include "actors/net/crypto.hpp"
#include "tests/support/scratch.hpp"

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>

#include <fstream>

namespace troupe {
namespace {

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

BOOST_AUTO_TEST_CASE(sha256_agrees_with_the_published_example) {
  // FIPS 180-4: "abc", given in two pieces.
  Sha256 hash;
  hash.update(bytes("a"));
  hash.update(bytes("bc"));
  BOOST_TEST(hash.hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

BOOST_AUTO_TEST_CASE(a_mac_depends_on_the_secret_and_on_every_byte) {
  const auto a = ClusterSecret::random();
  const auto b = ClusterSecret::random();
  const auto same = ClusterSecret::from_text(a.text() + "\n");
  BOOST_REQUIRE(same);
  BOOST_TEST(equal_digests(a.mac({bytes("xy")}), same->mac({bytes("x"), bytes("y")})));
  BOOST_TEST(!equal_digests(a.mac({bytes("xy")}), b.mac({bytes("xy")})));
  BOOST_TEST(!equal_digests(a.mac({bytes("xy")}), a.mac({bytes("xz")})));
}

BOOST_AUTO_TEST_CASE(a_secret_file_that_others_can_read_is_refused_with_the_way_out) {
  const test::Scratch scratch;
  const auto path = (scratch / "secret").string();
  std::ofstream(path) << "0123456789abcdef0123456789abcdef\n";
  ::chmod(path.c_str(), 0644);
  const auto open = ClusterSecret::from_file(path);
  BOOST_REQUIRE(!open);
  BOOST_CHECK(open.error().code == ErrorCode::permission_denied);
  BOOST_TEST(open.error().what.find("chmod 600 " + path) != std::string::npos);
  ::chmod(path.c_str(), 0600);
  BOOST_TEST(bool(ClusterSecret::from_file(path)));
}

BOOST_AUTO_TEST_CASE(an_empty_short_long_or_missing_secret_is_refused) {
  BOOST_TEST(!ClusterSecret::from_text(" \n"));
  BOOST_TEST(!ClusterSecret::from_text("too short"));
  BOOST_TEST(!ClusterSecret::from_text(std::string(5000, 'x')));
  const auto missing = ClusterSecret::from_file("/nonexistent/secret");
  BOOST_REQUIRE(!missing);
  BOOST_TEST(missing.error().what.find("/nonexistent/secret") != std::string::npos);
  BOOST_TEST(!ClusterSecret::from_fd(999));
}

}  // namespace
}  // namespace troupe
