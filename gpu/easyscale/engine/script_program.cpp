// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/script_program.hpp"

#include "gpu/easyscale/engine/schedule.hpp"
#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/module.h>
#include <torch/optim/adamw.h>

#include <stdexcept>
#include <utility>

namespace troupe::easyscale {
namespace {

constexpr double highest_rate = 1e-3;

torch::jit::Module load(const std::string& file) {
  // The profiling executor compiles a module anew after its first calls, with other bits.
  torch::jit::getProfilingMode() = false;
  torch::jit::getExecutorMode() = false;
  try {
    return torch::jit::load(file, at::Device(at::kCPU));
  } catch (const c10::Error& fault) {
    throw std::runtime_error(file + ": no TorchScript module: " + fault.what_without_backtrace());
  }
}

// The parameters and buffers of a script module under their own names. They share memory with it.
class ScriptNode : public torch::nn::Module {
 public:
  explicit ScriptNode(const torch::jit::Module& script) {
    for (const auto& one : script.named_parameters(/*recurse=*/false)) {
      register_parameter(one.name, one.value, one.value.requires_grad());
    }
    for (const auto& one : script.named_buffers(/*recurse=*/false)) {
      register_buffer(one.name, one.value);
    }
    for (const auto& one : script.named_children()) {
      register_module(one.name, std::make_shared<ScriptNode>(one.value));
    }
  }
};

class ScriptModel : public ScriptNode {
 public:
  explicit ScriptModel(torch::jit::Module script)
      : ScriptNode(script), script_(std::move(script)) {}

  void train(bool on) override {
    ScriptNode::train(on);
    script_.train(on);
  }
  at::Tensor forward(const at::Tensor& inputs) { return script_.forward({inputs}).toTensor(); }

 private:
  torch::jit::Module script_;
};

class Tensors : public Dataset {
 public:
  Tensors(at::Tensor inputs, at::Tensor targets)
      : inputs_(std::move(inputs)), targets_(std::move(targets)) {}

  [[nodiscard]] std::size_t size() const override {
    return static_cast<std::size_t>(inputs_.size(0));
  }
  [[nodiscard]] Result<Batch> batch(std::span<const std::uint32_t> indices) const override {
    const at::Tensor rows =
        at::tensor(std::vector<std::int64_t>(indices.begin(), indices.end()), at::kLong);
    return Batch{inputs_.index_select(0, rows), targets_.index_select(0, rows), {}};
  }

 private:
  at::Tensor inputs_;
  at::Tensor targets_;
};

class ScriptProgram : public TrainProgram {
 public:
  explicit ScriptProgram(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override {
    return std::make_shared<ScriptModel>(load(file_));
  }

  [[nodiscard]] Result<std::shared_ptr<const Dataset>> dataset(
      Split split, const std::string& path) const override {
    if (path.empty()) {
      return fail(
          ErrorCode::invalid_argument,
          "a TorchScript module needs the key 'data': a TorchScript module with train_inputs, "
          "train_targets, test_inputs and test_targets");
    }
    const auto from = load(path);
    at::Tensor parts[2];
    const std::string prefix = split == Split::train ? "train_" : "test_";
    const std::string names[2] = {prefix + "inputs", prefix + "targets"};
    for (int i = 0; i < 2; ++i) {
      if (!from.hasattr(names[i]) || !from.attr(names[i]).isTensor()) {
        return fail(ErrorCode::corrupt, path + ": has no tensor " + names[i]);
      }
      parts[i] = from.attr(names[i]).toTensor().detach();
    }
    if (parts[0].dim() == 0 || parts[1].dim() == 0 || parts[0].size(0) != parts[1].size(0)) {
      return fail(ErrorCode::corrupt,
                  path + ": " + names[0] + " and " + names[1] + " differ in their first dimension");
    }
    return std::make_shared<Tensors>(parts[0], parts[1]);
  }

  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    return std::make_unique<torch::optim::AdamW>(std::move(parameters),
                                                 torch::optim::AdamWOptions(highest_rate));
  }

  void schedule(torch::optim::Optimizer& optimizer, std::uint64_t step,
                std::uint64_t steps) const override {
    set_rate(optimizer, highest_rate * cosine(step, steps));
  }

  [[nodiscard]] Forward forward(torch::nn::Module& model, const Batch& batch) const override {
    const at::Tensor out = static_cast<ScriptModel&>(model).forward(batch.inputs).to(at::kFloat);
    if (at::isFloatingType(batch.targets.scalar_type())) {
      return {at::mse_loss(out, batch.targets.to(at::kFloat)), 0, 0};
    }
    const at::Tensor targets = batch.targets.to(at::kLong);
    const at::Tensor right = out.detach().argmax(1).eq(targets).sum();
    return {torch::nn::functional::cross_entropy(out, targets), right.item<std::int64_t>(), 0};
  }

 private:
  std::string file_;
};

}  // namespace

std::shared_ptr<const TrainProgram> make_script_program(std::string module) {
  return std::make_shared<ScriptProgram>(std::move(module));
}

}  // namespace troupe::easyscale
