// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace torch {
namespace nn {
class Module;
}
namespace optim {
class Optimizer;
}
}  // namespace torch

namespace troupe {

/// Some samples, stacked along the first dimension.
struct Batch {
  at::Tensor inputs;
  at::Tensor targets;
  at::Tensor lengths;  ///< of padded samples (engine/padding.hpp); undefined where all are equal
};

/// Samples that can be had by index, in any order and any number of times, always the same.
class Dataset {
 public:
  Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual Result<Batch> batch(std::span<const std::uint32_t> indices) const = 0;
};

enum class Split : std::uint8_t { train, test };

/// What a forward pass gives: a scalar loss to call backward on, the mean over the batch, and how
/// many of how many answers the model got right (samples, or the tokens of all samples).
struct Forward {
  at::Tensor loss;
  std::int64_t correct = 0;
  std::int64_t counted = 0;  ///< 0: as many as the batch has samples
};

/// How a user brings a model: the four things that a training job needs to know about it. One
/// object serves all trainers of a process, one call at a time. Randomness comes from torch's
/// default generator only, which is seeded before each call; parameters are float32.
class TrainProgram {
 public:
  TrainProgram() = default;
  TrainProgram(const TrainProgram&) = delete;
  TrainProgram& operator=(const TrainProgram&) = delete;
  virtual ~TrainProgram() = default;

  [[nodiscard]] virtual std::shared_ptr<torch::nn::Module> model() const = 0;
  /// `path` is the `data` key of the graph; empty: where the program's own data usually is.
  [[nodiscard]] virtual Result<std::shared_ptr<const Dataset>> dataset(
      Split split, const std::string& path) const = 0;
  /// Tensors of the model that every virtual rank has a value of its own of, which lives on from
  /// step to step wherever the rank is computed: a hidden state that is carried over, statistics of
  /// the rank's own samples. Each rank starts with the value that the model was made with. What is
  /// neither here nor a parameter is one for all: each step starts with what rank 0 left.
  [[nodiscard]] virtual std::vector<at::Tensor> rank_state(torch::nn::Module& /*model*/) const {
    return {};
  }
  /// SGD, Adam or AdamW over the model's parameters, in one group or several; those that it leaves
  /// out stay as they are.
  [[nodiscard]] virtual std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const = 0;
  /// Sets what changes from step to step, such as the learning rate, before step `step` of `steps`:
  /// a function of these two numbers (engine/schedule.hpp has some).
  virtual void schedule(torch::optim::Optimizer& /*optimizer*/, std::uint64_t /*step*/,
                        std::uint64_t /*steps*/) const {}
  /// `model` is what `model()` made, in training or evaluation mode.
  [[nodiscard]] virtual Forward forward(torch::nn::Module& model, const Batch& batch) const = 0;
};

}  // namespace troupe
