// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/gradient_norm.hpp"

#include "tests/unit/gpu/easyscale/job/floats.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

namespace troupe::easyscale {
namespace {

BOOST_AUTO_TEST_CASE(the_norm_is_that_of_the_numbers_whatever_their_count) {
  for (const std::size_t length : {0U, 1U, 7U, 8U, 4095U, 4096U, 4097U, 12289U, 50000U}) {
    const auto numbers = test::awkward_floats(length, length);
    long double sum = 0;
    for (const float one : numbers) sum += static_cast<long double>(one) * one;
    BOOST_TEST(gradient_norm(numbers) == static_cast<double>(std::sqrt(sum)),
               boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(a_number_that_is_not_finite_shows_wherever_it_is) {
  for (const std::size_t at : {0U, 4100U, 9999U}) {
    auto numbers = test::awkward_floats(1, 10000);
    numbers[at] = std::numeric_limits<float>::quiet_NaN();
    BOOST_TEST(!std::isfinite(gradient_norm(numbers)));
    numbers[at] = std::numeric_limits<float>::infinity();
    BOOST_TEST(!std::isfinite(gradient_norm(numbers)));
  }
  // Squares that do not fit into a float are no reason to give up.
  BOOST_TEST(std::isfinite(gradient_norm(std::vector<float>(3, 1e30F))));
}

BOOST_AUTO_TEST_CASE(only_what_is_too_long_is_clipped) {
  BOOST_TEST(clip_factor(4, 0) == 1.0F);
  BOOST_TEST(clip_factor(4, 5) == 1.0F);
  BOOST_TEST(clip_factor(4, 1) == 0.25F);
}

}  // namespace
}  // namespace troupe::easyscale
