// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/optimizer_state.hpp"

#include <ATen/ATen.h>
#include <boost/test/unit_test.hpp>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <functional>
#include <memory>

namespace troupe::easyscale {
namespace {

using torch::optim::Optimizer;
using Make = std::function<std::unique_ptr<Optimizer>(std::vector<at::Tensor>)>;

template <class Kind, class Options>
Make make(Options options) {
  return [options](std::vector<at::Tensor> parameters) {
    return std::make_unique<Kind>(std::move(parameters), options);
  };
}

std::vector<at::Tensor> parameters() {
  std::vector<at::Tensor> out;
  for (const std::int64_t size : {3, 5}) {
    out.push_back(at::linspace(-1, 1, size * 2).reshape({size, 2}).set_requires_grad(true));
  }
  return out;
}

void do_steps(Optimizer& optimizer, std::vector<at::Tensor>& tensors, int first, int last) {
  for (int i = first; i < last; ++i) {
    for (at::Tensor& tensor : tensors) {
      tensor.mutable_grad() = (tensor.detach() * static_cast<double>(i)).sin();
    }
    optimizer.step();
  }
}

std::vector<std::byte> written(const Optimizer& optimizer) {
  ByteWriter out;
  write_optimizer(optimizer, out);
  return out.take();
}

// The second parameter's state comes first, and without weight decay.
std::unique_ptr<Optimizer> two_groups(std::vector<at::Tensor> parameters) {
  using Options = torch::optim::AdamWOptions;
  auto out = std::make_unique<torch::optim::AdamW>(std::vector<at::Tensor>{parameters[1]},
                                                   Options(0.01).weight_decay(0));
  out->add_param_group(
      torch::optim::OptimizerParamGroup({parameters[0]}, std::make_unique<Options>(0.02)));
  return out;
}

std::vector<Make> all_kinds() {
  return {make<torch::optim::SGD>(torch::optim::SGDOptions(0.1)),
          make<torch::optim::SGD>(torch::optim::SGDOptions(0.1).momentum(0.9)),
          make<torch::optim::Adam>(torch::optim::AdamOptions(0.01)),
          make<torch::optim::Adam>(torch::optim::AdamOptions(0.01).amsgrad(true)),
          make<torch::optim::AdamW>(torch::optim::AdamWOptions(0.01)),
          two_groups};
}

BOOST_AUTO_TEST_CASE(training_goes_on_bit_by_bit_with_the_state_read_back) {
  for (const Make& kind : all_kinds()) {
    auto mine = parameters();
    auto theirs = parameters();
    const auto first = kind(mine);
    const auto second = kind(theirs);
    do_steps(*first, mine, 0, 4);
    do_steps(*second, theirs, 0, 2);  // has a state already, which is to be replaced
    for (std::size_t i = 0; i < mine.size(); ++i) theirs[i].data().copy_(mine[i].data());
    const auto bytes = written(*first);
    ByteReader in(bytes);
    BOOST_REQUIRE(read_optimizer(*second, in));
    BOOST_TEST(in.empty());
    BOOST_TEST((written(*second) == bytes));
    do_steps(*first, mine, 4, 8);
    do_steps(*second, theirs, 4, 8);
    for (std::size_t i = 0; i < mine.size(); ++i) BOOST_TEST(mine[i].equal(theirs[i]));
  }
}

BOOST_AUTO_TEST_CASE(a_state_cut_short_anywhere_is_an_error_and_changes_nothing) {
  for (const Make& kind : all_kinds()) {
    auto tensors = parameters();
    const auto optimizer = kind(tensors);
    do_steps(*optimizer, tensors, 0, 2);
    const auto bytes = written(*optimizer);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in({bytes.data(), size});
      BOOST_REQUIRE(!read_optimizer(*optimizer, in));
    }
    BOOST_TEST((written(*optimizer) == bytes));
  }
}

BOOST_AUTO_TEST_CASE(another_kinds_state_is_refused) {
  const auto kinds = all_kinds();
  const auto bytes = written(*kinds[1](parameters()));
  ByteReader in(bytes);
  BOOST_TEST(!read_optimizer(*kinds[2](parameters()), in));
}

BOOST_AUTO_TEST_CASE(other_optimizers_and_other_parameters_are_refused) {
  const auto mine = parameters();
  const auto other = make<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.1))(mine);
  BOOST_TEST(check_optimizer(*other, mine).error().what ==
             "elastic training carries the state of SGD, Adam and AdamW only: use one of them");
  const auto groups = all_kinds()[0](mine);
  BOOST_TEST(check_optimizer(*groups, mine).has_value());
  groups->add_param_group(torch::optim::OptimizerParamGroup(parameters()));
  BOOST_TEST(check_optimizer(*groups, mine).error().what ==
             "the optimizer has a parameter that is none of the model's");
}

}  // namespace
}  // namespace troupe::easyscale
