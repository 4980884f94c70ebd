// SPDX-License-Identifier: Apache-2.0
//
// A program that trains one parameter of 16 MiB with nearly no computation: what a step costs is
// the exchange of gradients. `wide-training run tests/bench/easyscale/wide.toml -o json`; the last
// line has `steps` and `train_s`.
#include "apps/troupe/app_main.hpp"
#include "gpu/easyscale/kinds.hpp"
#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <torch/nn/module.h>
#include <torch/optim/sgd.h>

namespace {

constexpr std::int64_t width = std::int64_t{4} << 20;
constexpr std::size_t samples = 180;

class Network : public torch::nn::Module {
 public:
  Network() { weight = register_parameter("weight", at::ones({width})); }

  at::Tensor weight;
};

class Numbers : public troupe::Dataset {
 public:
  [[nodiscard]] std::size_t size() const override { return samples; }
  [[nodiscard]] troupe::Result<troupe::Batch> batch(
      std::span<const std::uint32_t> indices) const override {
    auto numbers = at::empty({static_cast<std::int64_t>(indices.size())}, at::kFloat);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      numbers.data_ptr<float>()[i] = static_cast<float>(indices[i]);
    }
    return troupe::Batch{numbers, numbers};
  }
};

class WideProgram : public troupe::TrainProgram {
 public:
  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override {
    return std::make_shared<Network>();
  }
  [[nodiscard]] troupe::Result<std::shared_ptr<const troupe::Dataset>> dataset(
      troupe::Split /*split*/, const std::string& /*path*/) const override {
    return std::make_shared<Numbers>();
  }
  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                               torch::optim::SGDOptions(0.01));
  }
  [[nodiscard]] troupe::Forward forward(torch::nn::Module& model,
                                        const troupe::Batch& batch) const override {
    auto& network = static_cast<Network&>(model);
    return {network.weight.mean() * batch.inputs.mean(), 0};
  }
};

}  // namespace

int main(int argc, char** argv) {
  troupe::TrainPrograms programs;
  programs["wide"] = std::make_shared<WideProgram>();
  troupe::ActorKinds kinds;
  troupe::register_easyscale_trainer(kinds, programs);
  return troupe::app_main(argc, argv, kinds);
}
