// SPDX-License-Identifier: Apache-2.0
#include "actors/core/reason.hpp"

#include "actors/core/message.hpp"
#include "messages/common.capnp.h"

#include <boost/test/unit_test.hpp>
#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>
#include <capnp/schema.h>

namespace troupe {
namespace {

caf::error over_the_wire(const caf::error& error) {
  const auto message =
      Msg<msg::Reason>::build([&](msg::Reason::Builder b) { write_reason(b, error); });
  return read_reason(*message.read());
}

BOOST_AUTO_TEST_CASE(an_error_keeps_its_code_and_words_through_caf_and_wire) {
  const Error error{ErrorCode::not_found, "digits.csv.gz: no such file"};
  BOOST_CHECK(from_caf(over_the_wire(to_caf(error))) == error);
  const Error fault{ErrorCode::internal, "the code 0 is an error too"};
  BOOST_CHECK(from_caf(over_the_wire(to_caf(fault))) == fault);
}

BOOST_AUTO_TEST_CASE(cafs_own_reasons_stay_themselves) {
  const caf::error killed = caf::exit_reason::kill;
  BOOST_CHECK(over_the_wire(killed) == caf::exit_reason::kill);
  BOOST_TEST(!is_normal_end(over_the_wire(killed)));
  const caf::error asked = caf::exit_reason::user_shutdown;
  BOOST_TEST(is_normal_end(over_the_wire(asked)));
  BOOST_TEST(is_normal_end(over_the_wire(caf::error())));
  const caf::error gone = caf::sec::request_receiver_down;
  BOOST_CHECK(from_caf(gone).code == ErrorCode::unavailable);
}

BOOST_AUTO_TEST_CASE(the_error_codes_of_schema_and_header_are_the_same_words_in_the_same_order) {
  const auto names = capnp::Schema::from<msg::ErrorCode>().getEnumerants();
  const char* expected[] = {"internal",    "invalidArgument",   "notFound",        "alreadyExists",
                            "unavailable", "permissionDenied",  "versionMismatch", "corrupt",
                            "timeout",     "resourceExhausted", "aborted"};
  BOOST_REQUIRE(names.size() == std::size(expected));
  for (unsigned i = 0; i < names.size(); ++i) {
    BOOST_TEST(std::string(names[i].getProto().getName()) == expected[i]);
  }
  BOOST_TEST(static_cast<unsigned>(ErrorCode::aborted) + 1 == names.size());
  BOOST_TEST(static_cast<unsigned>(msg::ErrorCode::CORRUPT) ==
             static_cast<unsigned>(ErrorCode::corrupt));
}

}  // namespace
}  // namespace troupe
