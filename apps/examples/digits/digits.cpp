// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/digits/digits.hpp"

#include "apps/examples/digits/data_file.hpp"
#include "apps/examples/digits/digits_csv.hpp"
#include "gpu/easyscale/job/sampler.hpp"
#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <utility>

namespace troupe {
namespace {

namespace nn = torch::nn;

constexpr std::size_t train_rows = 1437;
constexpr std::uint64_t split_seed = 1797;  // the same split for every job
constexpr double highest_rate = 0.1;
constexpr double momentum = 0.9;

class Network : public nn::Module {
 public:
  Network() {
    conv1_ = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 16, 3).padding(1)));
    norm1_ = register_module("norm1", nn::BatchNorm2d(16));
    conv2_ = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(16, 32, 3).padding(1)));
    norm2_ = register_module("norm2", nn::BatchNorm2d(32));
    hidden_ = register_module("hidden", nn::Linear(32 * 4 * 4, 64));
    scores_ = register_module("scores", nn::Linear(64, 10));
  }

  at::Tensor forward(at::Tensor x) {
    x = at::relu(norm1_(conv1_(x)));
    x = at::max_pool2d(at::relu(norm2_(conv2_(x))), {2, 2});
    x = at::dropout(x.flatten(1), 0.25, is_training());
    return scores_(at::dropout(at::relu(hidden_(x)), 0.25, is_training()));
  }

 private:
  nn::Conv2d conv1_{nullptr};
  nn::Conv2d conv2_{nullptr};
  nn::BatchNorm2d norm1_{nullptr};
  nn::BatchNorm2d norm2_{nullptr};
  nn::Linear hidden_{nullptr};
  nn::Linear scores_{nullptr};
};

class DigitSet : public Dataset {
 public:
  explicit DigitSet(std::vector<digits::Digit> all) : all_(std::move(all)) {}

  [[nodiscard]] std::size_t size() const override { return all_.size(); }

  [[nodiscard]] Result<Batch> batch(std::span<const std::uint32_t> indices) const override {
    const auto count = static_cast<std::int64_t>(indices.size());
    Batch out{at::empty({count, 1, 8, 8}, at::kFloat), at::empty({count}, at::kLong)};
    auto* pixel = out.inputs.data_ptr<float>();
    auto* label = out.targets.data_ptr<std::int64_t>();
    for (const std::uint32_t index : indices) {
      if (index >= all_.size()) {
        return fail(ErrorCode::invalid_argument, "there is no digit " + std::to_string(index));
      }
      for (const std::uint8_t value : all_[index].image) {
        *pixel++ = static_cast<float>(value) / 8.0F - 1.0F;
      }
      *label++ = all_[index].label;
    }
    return out;
  }

 private:
  std::vector<digits::Digit> all_;
};

class DigitsProgram : public TrainProgram {
 public:
  [[nodiscard]] std::shared_ptr<nn::Module> model() const override {
    return std::make_shared<Network>();
  }

  [[nodiscard]] Result<std::shared_ptr<const Dataset>> dataset(
      Split split, const std::string& path) const override {
    const auto file = digits::find_data(digits::data_places(path));
    if (!file) return Failure(file.error());
    auto all = digits::read_digits(*file);
    if (!all) return Failure(all.error());
    const auto order =
        easyscale::permutation(split_seed, 0, static_cast<std::uint32_t>(all->size()));
    const bool train = split == Split::train;
    std::vector<digits::Digit> part;
    for (std::size_t i = train ? 0 : train_rows; i < (train ? train_rows : all->size()); ++i) {
      part.push_back((*all)[order[i]]);
    }
    return std::make_shared<DigitSet>(std::move(part));
  }

  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    return std::make_unique<torch::optim::SGD>(
        std::move(parameters),
        torch::optim::SGDOptions(highest_rate).momentum(momentum).weight_decay(5e-4));
  }

  // Down to zero along half a cosine: what makes the last epochs agree whatever the seed.
  void schedule(torch::optim::Optimizer& optimizer, std::uint64_t step,
                std::uint64_t steps) const override {
    constexpr double pi = 3.14159265358979323846;
    const double done = static_cast<double>(step) / static_cast<double>(steps);
    auto& options = static_cast<torch::optim::SGDOptions&>(optimizer.param_groups()[0].options());
    options.lr(highest_rate * 0.5 * (1.0 + std::cos(pi * done)));
  }

  [[nodiscard]] Forward forward(nn::Module& model, const Batch& batch) const override {
    const at::Tensor scores = static_cast<Network&>(model).forward(batch.inputs);
    const auto right = scores.detach().argmax(1).eq(batch.targets).sum();
    return {nn::functional::cross_entropy(scores, batch.targets), right.item<std::int64_t>()};
  }
};

}  // namespace

std::shared_ptr<const TrainProgram> make_digits_program() {
  return std::make_shared<DigitsProgram>();
}

}  // namespace troupe
