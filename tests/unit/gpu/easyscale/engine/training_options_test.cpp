// SPDX-License-Identifier: Apache-2.0
// What a graph and a program may choose about training, on a model small enough to know the answer.
#include "gpu/easyscale/engine/schedule.hpp"
#include "gpu/easyscale/replica.hpp"
#include "gpu/easyscale/train_program.hpp"
#include "tests/support/why.hpp"

#include <ATen/ATen.h>
#include <boost/test/unit_test.hpp>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <cstring>

namespace troupe::easyscale {
namespace {

class Net : public torch::nn::Module {
 public:
  Net() {
    first = register_module("first", torch::nn::Linear(3, 8));
    last = register_module("last", torch::nn::Linear(8, 1));
  }
  torch::nn::Linear first{nullptr};
  torch::nn::Linear last{nullptr};
};

class Waves : public Dataset {
 public:
  [[nodiscard]] std::size_t size() const override { return 64; }
  [[nodiscard]] Result<Batch> batch(std::span<const std::uint32_t> indices) const override {
    at::Tensor inputs = at::empty({static_cast<std::int64_t>(indices.size()), 3});
    for (std::size_t i = 0; i < indices.size(); ++i) {
      inputs[static_cast<std::int64_t>(i)] =
          at::arange(3).mul(static_cast<double>(indices[i])).sin();
    }
    return Batch{inputs, 10 * inputs.sum(1), {}};
  }
};

class WaveProgram : public TrainProgram {
 public:
  bool groups = false;  // AdamW with two groups and a schedule; else plain SGD

  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override {
    return std::make_shared<Net>();
  }
  [[nodiscard]] Result<std::shared_ptr<const Dataset>> dataset(Split,
                                                               const std::string&) const override {
    return std::make_shared<Waves>();
  }
  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    if (!groups) return std::make_unique<torch::optim::SGD>(parameters, 1.0);
    using Options = torch::optim::AdamWOptions;
    std::vector<at::Tensor> matrices;
    std::vector<at::Tensor> others;
    for (const auto& one : parameters) (one.dim() > 1 ? matrices : others).push_back(one);
    auto out = std::make_unique<torch::optim::AdamW>(matrices, Options(0.1).weight_decay(0.1));
    out->add_param_group({others, std::make_unique<Options>(Options(0.1).weight_decay(0))});
    return out;
  }
  void schedule(torch::optim::Optimizer& optimizer, std::uint64_t step,
                std::uint64_t steps) const override {
    if (groups) set_rate(optimizer, 0.1 * warmup_cosine(step, steps, 2));
  }
  [[nodiscard]] Forward forward(torch::nn::Module& model, const Batch& batch) const override {
    auto& net = static_cast<Net&>(model);
    const at::Tensor out = net.last(net.first(batch.inputs).relu()).to(at::kFloat).squeeze(1);
    // Ten answers a sample, of which three are right.
    return {(out - batch.targets).pow(2).mean(), 3 * batch.inputs.size(0),
            10 * batch.inputs.size(0)};
  }
};

ReplicaOptions options(Rank ranks, std::uint32_t batch, std::uint32_t accumulate = 1) {
  ReplicaOptions out{.seed = 3, .ranks = ranks, .batch = batch, .epochs = 3};
  out.accumulate = accumulate;
  return out;
}

Replica make(const ReplicaOptions& options, bool groups = false) {
  auto program = std::make_shared<WaveProgram>();
  program->groups = groups;
  auto made = Replica::make(program, options);
  BOOST_REQUIRE_MESSAGE(made, troupe::test::why(made));
  return std::move(*made);
}

std::vector<float> gradient(Replica& replica, Rank rank) {
  const auto result = replica.run_rank(rank);
  BOOST_REQUIRE_MESSAGE(result, troupe::test::why(result));
  return {result->gradient.begin(), result->gradient.end()};
}

// One step; odd ranks are computed by `helper`.
void do_step(Replica& replica, Replica& helper, Rank ranks) {
  TreeFold fold(ranks, replica.gradient_length());
  for (Rank rank = 0; rank < ranks; ++rank) {
    BOOST_REQUIRE(fold.add({0, rank}, gradient(rank % 2 == 0 ? replica : helper, rank)));
  }
  std::vector<float> mean = fold.take().front().values;
  for (float& value : mean) value /= static_cast<float>(ranks);
  BOOST_REQUIRE(replica.apply(mean, {}, {}));
  if (&helper != &replica) BOOST_REQUIRE(helper.apply(mean, {}, {}));
}

std::vector<std::byte> trained(const ReplicaOptions& options, bool groups, bool with_helper) {
  Replica replica = make(options, groups);
  Replica helper = make(options, groups);
  for (int i = 0; i < 4; ++i) do_step(replica, with_helper ? helper : replica, options.ranks);
  return replica.save();
}

BOOST_AUTO_TEST_CASE(a_ranks_gradient_is_the_mean_over_its_micro_batches) {
  Replica one = make(options(1, 4, 2));
  Replica two = make(options(2, 4));
  const auto both = one.run_rank(0);
  BOOST_REQUIRE(both);
  const std::vector<float> mean(both->gradient.begin(), both->gradient.end());
  const auto first = *two.run_rank(0);
  const std::vector<float> first_half(first.gradient.begin(), first.gradient.end());
  const auto second = *two.run_rank(1);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    BOOST_TEST(mean[i] == first_half[i] / 2 + second.gradient[i] / 2);  // halves are exact
  }
  BOOST_TEST(both->report.loss == (first.report.loss + second.report.loss) / 2);
  BOOST_TEST(both->report.counted == 80U);
  BOOST_TEST(both->report.correct == 24U);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_too_long_is_scaled_down) {
  const auto change = [](double clip) {
    ReplicaOptions how = options(2, 4);
    how.clip_norm = clip;
    Replica replica = make(how);
    const auto before = replica.parameter_bytes();
    do_step(replica, replica, 2);
    const auto after = replica.parameter_bytes();
    double sum = 0;
    for (std::size_t at = 0; at < before.size(); at += sizeof(float)) {
      float old_value = 0;
      float new_value = 0;
      std::memcpy(&old_value, before.data() + at, sizeof(float));
      std::memcpy(&new_value, after.data() + at, sizeof(float));
      sum += std::pow(double{new_value} - old_value, 2);
    }
    return std::sqrt(sum);
  };
  const double whole = change(0);
  BOOST_TEST(whole > 1.0);
  BOOST_TEST(change(0.5) == 0.5, boost::test_tools::tolerance(1e-5));
  BOOST_TEST(change(2 * whole) == whole);
}

BOOST_AUTO_TEST_CASE(bits_do_not_depend_on_who_computes_with_any_of_the_options) {
  std::vector<std::vector<std::byte>> all;
  for (const bool groups : {false, true}) {
    for (const bool bf16 : {false, true}) {
      ReplicaOptions how = options(4, 2, 2);
      how.clip_norm = 0.3;
      how.bf16 = bf16;
      all.push_back(trained(how, groups, false));
      BOOST_TEST((all.back() == trained(how, groups, true)));
    }
  }
  BOOST_TEST((all[0] != all[1]));  // bfloat16 does make a difference
}

BOOST_AUTO_TEST_CASE(groups_and_schedule_go_on_after_a_saved_state) {
  Replica one = make(options(2, 4), true);
  for (int i = 0; i < 3; ++i) do_step(one, one, 2);
  Replica other = make(options(2, 4), true);
  BOOST_REQUIRE(other.load(one.save()));
  for (int i = 0; i < 3; ++i) {
    do_step(one, one, 2);
    do_step(other, other, 2);
  }
  BOOST_TEST((one.save() == other.save()));
}

BOOST_AUTO_TEST_CASE(accuracy_and_loss_are_over_what_the_program_counts) {
  Replica replica = make(options(2, 4));
  const auto accuracy = replica.evaluate();
  BOOST_REQUIRE(accuracy);
  BOOST_TEST(accuracy->counted == 640U);
  BOOST_TEST(accuracy->correct == 192U);
  BOOST_TEST(accuracy->loss > 0);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_not_finite_names_the_step_and_changes_nothing) {
  Replica replica = make(options(2, 4));
  do_step(replica, replica, 2);
  const auto before = replica.save();
  std::vector<float> broken(replica.gradient_length(), 0.0F);
  broken[5] = HUGE_VALF;
  const auto applied = replica.apply(broken, {}, {});
  BOOST_REQUIRE(!applied);
  BOOST_TEST(applied.error().what ==
             "the gradient of step 1 is not finite: lower the learning rate or look at the data");
  BOOST_TEST((replica.save() == before));
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_there_is_refused) {
  ReplicaOptions how = options(2, 4);
  how.device = "teapot";
  const auto odd = Replica::make(std::make_shared<WaveProgram>(), how);
  BOOST_REQUIRE(!odd);
  BOOST_TEST(odd.error().what ==
             "device teapot: torch knows none of that name; such as cpu or cuda");
  if (at::hasCUDA()) return;
  how.device = "cuda";
  const auto none = Replica::make(std::make_shared<WaveProgram>(), how);
  BOOST_REQUIRE(!none);
  BOOST_TEST(none.error().what ==
             "device cuda: there is no CUDA device here, or torch was built without");
}

}  // namespace
}  // namespace troupe::easyscale
