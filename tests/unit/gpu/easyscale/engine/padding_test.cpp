// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/padding.hpp"

#include <ATen/ATen.h>
#include <boost/test/unit_test.hpp>

namespace troupe::easyscale {
namespace {

BOOST_AUTO_TEST_CASE(a_batch_is_as_long_as_its_longest_sample) {
  const std::vector<at::Tensor> samples = {at::arange(2, at::kLong), at::arange(4, at::kLong),
                                           at::empty({0}, at::kLong)};
  const Padded padded = pad(samples, -1);
  BOOST_TEST(padded.values.equal(
      at::tensor({0, 1, -1, -1, 0, 1, 2, 3, -1, -1, -1, -1}, at::kLong).reshape({3, 4})));
  BOOST_TEST(padded.lengths.equal(at::tensor({2, 4, 0}, at::kLong)));
}

BOOST_AUTO_TEST_CASE(further_dimensions_stay_as_they_are) {
  const Padded padded = pad({at::ones({1, 2}), at::ones({3, 2})}, 0);
  BOOST_TEST(padded.values.sizes() == (at::IntArrayRef{2, 3, 2}));
  BOOST_TEST(padded.values.sum().item<float>() == 8.0F);
}

}  // namespace
}  // namespace troupe::easyscale
