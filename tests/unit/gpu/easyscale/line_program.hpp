// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace troupe::easyscale::test {

class Line : public torch::nn::Module {
 public:
  explicit Line(at::ScalarType type) {
    linear = register_module("linear", torch::nn::Linear(3, 2));
    norm = register_module("norm", torch::nn::BatchNorm1d(2));
    unused = register_parameter("unused", at::ones({4}));
    memory = register_buffer("memory", at::zeros({2}));
    to(type);
  }
  torch::nn::Linear linear{nullptr};
  torch::nn::BatchNorm1d norm{nullptr};
  at::Tensor unused;
  at::Tensor memory;  // what a rank keeps for itself
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
  mutable int exhausted = 0;  // so many calls ask for more memory than there is
  bool keep_unused = false;   // hands out a parameter as what a rank keeps
  mutable std::shared_ptr<torch::nn::Module> made;  // the last model

  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override {
    return made = std::make_shared<Line>(type);
  }
  [[nodiscard]] std::vector<at::Tensor> rank_state(torch::nn::Module& model) const override {
    auto& line = static_cast<Line&>(model);
    return {keep_unused ? line.unused : line.memory};
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
    at::Tensor loss =
        (out - batch.targets).pow(2).mean() + (out * line.memory[0].item<double>()).mean();
    if (line.is_training()) line.memory.mul_(0.5).add_(batch.inputs.mean(), 0.01);
    if (exhausted > 0 && exhausted-- > 0) return {at::empty({std::int64_t{1} << 60}), 0};
    if (explode) loss = loss * std::numeric_limits<double>::infinity();
    return {loss, 1};
  }
};

// A model's parameters as their hash is defined, element by element.
inline std::vector<std::byte> bytes_of_parameters(const torch::nn::Module& model) {
  std::vector<std::byte> out;
  for (const at::Tensor& parameter : model.parameters()) {
    const at::Tensor flat = parameter.detach().flatten();
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      const auto value = flat[i].item<float>();
      const auto bytes = std::as_bytes(std::span(&value, 1));
      out.insert(out.end(), bytes.begin(), bytes.end());
    }
  }
  return out;
}

}  // namespace troupe::easyscale::test
