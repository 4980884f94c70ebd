// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/faults.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe::easyscale {
namespace {

BOOST_AUTO_TEST_CASE(step_alone_picks_phase_forward_and_a_trainer_by_step) {
  BOOST_TEST((*parse_fault("40", 3) == Fault{40, FaultPhase::forward, 1}));
}

BOOST_AUTO_TEST_CASE(phase_and_trainer_can_be_named) {
  BOOST_TEST((*parse_fault("40:exchange", 3) == Fault{40, FaultPhase::exchange, 1}));
  BOOST_TEST((*parse_fault("0:optimizer:2", 3) == Fault{0, FaultPhase::optimizer, 2}));
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused_with_the_words_that_were_meant) {
  for (const char* text : {"", "x", "-1", "4:", "4:sleep", "4:forward:", "4:forward:3",
                           "4:forward:1:1", "99999999999999999999", "4 "}) {
    const auto fault = parse_fault(text, 3);
    BOOST_REQUIRE_MESSAGE(!fault, text);
    BOOST_TEST(fault.error().what.starts_with("--kill-one-at "));
  }
  BOOST_TEST(parse_fault("4:sleep", 3).error().what ==
             "--kill-one-at 4:sleep: no phase \"sleep\": forward, exchange or optimizer");
}

}  // namespace
}  // namespace troupe::easyscale
