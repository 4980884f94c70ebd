// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/replica.hpp"

#include "gpu/easyscale/train_program.hpp"
#include "tests/support/why.hpp"

#include <ATen/ATen.h>
#include <boost/test/unit_test.hpp>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <limits>

namespace troupe::easyscale {
namespace {

class Line : public torch::nn::Module {
 public:
  explicit Line(at::ScalarType type) {
    linear = register_module("linear", torch::nn::Linear(3, 2));
    norm = register_module("norm", torch::nn::BatchNorm1d(2));
    unused = register_parameter("unused", at::ones({4}));
    to(type);
  }
  torch::nn::Linear linear{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  at::Tensor unused;
};

class Points : public Dataset {
 public:
  [[nodiscard]] std::size_t size() const override { return 40; }
  [[nodiscard]] Result<Batch> batch(std::span<const std::uint32_t> indices) const override {
    at::Tensor inputs = at::empty({static_cast<std::int64_t>(indices.size()), 3});
    for (std::size_t i = 0; i < indices.size(); ++i) {
      inputs[static_cast<std::int64_t>(i)] = at::arange(3).add(static_cast<double>(indices[i]));
    }
    return Batch{inputs, inputs.sum(1)};
  }
};

class LineProgram : public TrainProgram {
 public:
  at::ScalarType type = at::kFloat;
  bool explode = false;

  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override {
    return std::make_shared<Line>(type);
  }
  [[nodiscard]] Result<std::shared_ptr<const Dataset>> dataset(
      Split, const std::string& path) const override {
    if (!path.empty()) return fail(ErrorCode::not_found, path + ": no such file");
    return std::make_shared<Points>();
  }
  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.01));
  }
  [[nodiscard]] Forward forward(torch::nn::Module& model, const Batch& batch) const override {
    auto& line = static_cast<Line&>(model);
    const at::Tensor out = line.norm(at::dropout(line.linear(batch.inputs), 0.5, true)).sum(1);
    at::Tensor loss = (out - batch.targets).pow(2).mean();
    if (explode) loss = loss * std::numeric_limits<double>::infinity();
    return {loss, 1};
  }
};

ReplicaOptions options() { return {7, 2, 4, 3, "", "cpu"}; }

Replica make(std::shared_ptr<LineProgram> program = std::make_shared<LineProgram>()) {
  auto made = Replica::make(std::move(program), options());
  BOOST_REQUIRE_MESSAGE(made, test::why(made));
  return std::move(*made);
}

void do_step(Replica& replica) {
  std::vector<float> sum(replica.gradient_length());
  std::optional<Slice> buffers;
  for (Rank rank = 0; rank < 2; ++rank) {
    const auto result = replica.run_rank(rank);
    BOOST_REQUIRE(result);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += result->gradient[i] / 2;
    if (result->buffers) buffers = result->buffers;
  }
  BOOST_REQUIRE(replica.apply(sum, buffers->bytes()));
}

BOOST_AUTO_TEST_CASE(a_ranks_gradient_depends_on_state_step_and_rank_alone) {
  Replica one = make();
  Replica other = make();
  BOOST_TEST(one.steps() == 15U);
  BOOST_TEST(one.gradient_length() == 6U + 2U + 4U + 4U);
  const auto first = *one.run_rank(1);
  const std::vector<float> expected(first.gradient.begin(), first.gradient.end());
  BOOST_TEST(!first.buffers);
  BOOST_REQUIRE(other.run_rank(0));  // leaves other buffers and another generator behind
  BOOST_REQUIRE(other.evaluate());
  const auto again = *other.run_rank(1);
  BOOST_TEST(std::vector<float>(again.gradient.begin(), again.gradient.end()) == expected,
             boost::test_tools::per_element());
  BOOST_TEST(again.report.loss == first.report.loss);
}

BOOST_AUTO_TEST_CASE(training_goes_on_bit_by_bit_in_another_replica_with_the_saved_state) {
  Replica one = make();
  for (int i = 0; i < 4; ++i) do_step(one);
  Replica other = make();
  do_step(other);
  BOOST_REQUIRE(other.load(one.save()));
  BOOST_TEST(other.step() == 4U);
  BOOST_TEST((other.save() == one.save()));
  for (int i = 0; i < 3; ++i) {
    do_step(one);
    do_step(other);
  }
  BOOST_TEST((other.save() == one.save()));
}

BOOST_AUTO_TEST_CASE(a_damaged_state_is_refused_and_changes_nothing) {
  Replica replica = make();
  do_step(replica);
  const auto good = replica.save();
  for (std::size_t size = 0; size < good.size(); size += 7) {
    BOOST_REQUIRE(!replica.load(std::span(good).first(size)));
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  BOOST_TEST(!replica.load(longer));
  auto newer = good;
  newer[8] = std::byte{9};
  BOOST_TEST(replica.load(newer).error().what ==
             "a saved training state of version 9; this program reads version 1");
  BOOST_TEST((replica.save() == good));
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_names_step_and_rank) {
  const auto program = std::make_shared<LineProgram>();
  Replica replica = make(program);
  do_step(replica);
  program->explode = true;
  BOOST_TEST(replica.run_rank(1).error().what ==
             "the loss of virtual rank 1 in step 1 is inf: lower the learning rate or look at the "
             "data");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_trained_the_same_is_refused) {
  const auto program = std::make_shared<LineProgram>();
  program->type = at::kDouble;
  const auto wide = Replica::make(program, options());
  BOOST_REQUIRE(!wide);
  BOOST_TEST(wide.error().what ==
             "parameter unused is Double; elastic training handles Float (float32) only");
  ReplicaOptions missing = options();
  missing.data = "nowhere";
  const auto lost = Replica::make(std::make_shared<LineProgram>(), missing);
  BOOST_TEST(lost.error().what == "nowhere: no such file");
  Replica replica = make();
  BOOST_TEST(!replica.apply(std::vector<float>(3), {}));
}

}  // namespace
}  // namespace troupe::easyscale
