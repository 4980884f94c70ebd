// SPDX-License-Identifier: Apache-2.0
//
// A model of your own, in a program of your own: everything that Troupe has to know of it is in
// SpiralsProgram. The same binary is the host of the job (`spirals run spirals.toml`) and each of
// its trainers.
#include "apps/troupe/app_main.hpp"
#include "gpu/easyscale/engine/schedule.hpp"
#include "gpu/easyscale/kinds.hpp"
#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adamw.h>

#include <memory>
#include <vector>

namespace {

// Which of two interleaved spirals a point lies on.
class Network : public torch::nn::Module {
 public:
  Network() {
    first_ = register_module("first", torch::nn::Linear(2, 64));
    second_ = register_module("second", torch::nn::Linear(64, 64));
    scores_ = register_module("scores", torch::nn::Linear(64, 2));
  }
  at::Tensor forward(const at::Tensor& points) {
    const at::Tensor x = at::dropout(first_(points).tanh(), 0.05, is_training());
    return scores_(second_(x).tanh());
  }

 private:
  torch::nn::Linear first_{nullptr};
  torch::nn::Linear second_{nullptr};
  torch::nn::Linear scores_{nullptr};
};

// Sample i is a point on spiral i mod 2; the test set lies between the points of the training set.
class Spirals : public troupe::Dataset {
 public:
  explicit Spirals(double offset) : offset_(offset) {}

  [[nodiscard]] std::size_t size() const override { return 1024; }
  [[nodiscard]] troupe::Result<troupe::Batch> batch(
      std::span<const std::uint32_t> indices) const override {
    const std::vector<std::int64_t> numbers(indices.begin(), indices.end());
    const at::Tensor index = at::tensor(numbers, at::kLong);
    const at::Tensor side = index.remainder(2);
    const at::Tensor turn = (index.to(at::kFloat) + offset_) / 1024 * 9 + 1;
    const at::Tensor angle = turn + side.to(at::kFloat) * 3.14159265;
    return troupe::Batch{at::stack({turn * angle.cos(), turn * angle.sin()}, 1) / 10, side, {}};
  }

 private:
  double offset_;
};

class SpiralsProgram : public troupe::TrainProgram {
 public:
  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override {
    return std::make_shared<Network>();
  }
  [[nodiscard]] troupe::Result<std::shared_ptr<const troupe::Dataset>> dataset(
      troupe::Split split, const std::string& /*path*/) const override {
    return std::make_shared<Spirals>(split == troupe::Split::train ? 0.0 : 0.5);
  }
  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                                 torch::optim::AdamWOptions(0.01));
  }
  void schedule(torch::optim::Optimizer& optimizer, std::uint64_t step,
                std::uint64_t steps) const override {
    troupe::easyscale::set_rate(optimizer, 0.01 * troupe::easyscale::cosine(step, steps));
  }
  [[nodiscard]] troupe::Forward forward(torch::nn::Module& model,
                                        const troupe::Batch& batch) const override {
    const at::Tensor scores = static_cast<Network&>(model).forward(batch.inputs);
    const at::Tensor right = scores.detach().argmax(1).eq(batch.targets).sum();
    return {torch::nn::functional::cross_entropy(scores, batch.targets),
            right.item<std::int64_t>()};
  }
};

}  // namespace

int main(int argc, char** argv) {
  troupe::ActorKinds kinds;
  troupe::register_easyscale_trainer(kinds, {{"spirals", std::make_shared<SpiralsProgram>()}});
  return troupe::app_main(argc, argv, kinds);
}
