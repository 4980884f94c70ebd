// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/schedule.hpp"

#include <ATen/ATen.h>
#include <boost/test/unit_test.hpp>
#include <torch/optim/sgd.h>

namespace troupe::easyscale {
namespace {

const auto close = boost::test_tools::tolerance(1e-12);

BOOST_AUTO_TEST_CASE(a_cosine_goes_from_one_to_the_last_factor) {
  BOOST_TEST(cosine(0, 10) == 1.0, close);
  BOOST_TEST(cosine(5, 10) == 0.5, close);
  BOOST_TEST(cosine(10, 10) < 0.03);
  BOOST_TEST(cosine(5, 10, 0.2) == 0.6, close);
}

BOOST_AUTO_TEST_CASE(a_warm_up_rises_before_it) {
  BOOST_TEST(warmup_cosine(0, 12, 4) == 0.25, close);
  BOOST_TEST(warmup_cosine(3, 12, 4) == 1.0, close);
  BOOST_TEST(warmup_cosine(4, 12, 4) == 1.0, close);
  BOOST_TEST(warmup_cosine(8, 12, 4) == 0.5, close);
  BOOST_TEST(warmup_cosine(2, 2, 4) == 0.75, close);  // a job shorter than its warm-up
}

BOOST_AUTO_TEST_CASE(a_staircase_falls_every_so_many_steps) {
  BOOST_TEST(staircase(9, 10, 0.1) == 1.0, close);
  BOOST_TEST(staircase(20, 10, 0.1) == 0.01, close);
}

BOOST_AUTO_TEST_CASE(a_rate_is_set_in_every_group) {
  torch::optim::SGD optimizer({at::ones({1}).set_requires_grad(true)}, 1.0);
  optimizer.add_param_group(
      torch::optim::OptimizerParamGroup({at::ones({1}).set_requires_grad(true)}));
  set_rate(optimizer, 0.25);
  for (auto& group : optimizer.param_groups()) BOOST_TEST(group.options().get_lr() == 0.25);
}

}  // namespace
}  // namespace troupe::easyscale
