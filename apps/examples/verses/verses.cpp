// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/verses/verses.hpp"

#include "apps/examples/verses/verse_text.hpp"
#include "gpu/easyscale/engine/padding.hpp"
#include "gpu/easyscale/engine/schedule.hpp"
#include "gpu/easyscale/job/sampler.hpp"
#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adamw.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {
namespace {

namespace nn = torch::nn;

constexpr std::size_t longest = 128;  // characters of a verse that are learnt
constexpr std::int64_t width = 64;
constexpr std::int64_t heads = 4;
constexpr int layers = 2;
constexpr double dropout = 0.1;
constexpr std::int64_t ignored = -100;  // a target that is none: padding
constexpr std::uint64_t split_seed = 66;
constexpr double highest_rate = 3e-3;
constexpr std::uint64_t warmup = 40;

class Block : public nn::Module {
 public:
  Block() {
    norm1_ = register_module("norm1", nn::LayerNorm(nn::LayerNormOptions({width})));
    mix_ = register_module("mix", nn::Linear(width, 3 * width));
    out_ = register_module("out", nn::Linear(width, width));
    norm2_ = register_module("norm2", nn::LayerNorm(nn::LayerNormOptions({width})));
    up_ = register_module("up", nn::Linear(width, 4 * width));
    down_ = register_module("down", nn::Linear(4 * width, width));
  }

  // `mask` is -inf where a position must not see another one.
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask) {
    const at::Tensor y = x + at::dropout(attend(norm1_(x), mask), dropout, is_training());
    const at::Tensor z = down_(at::gelu(up_(norm2_(y))));
    return y + at::dropout(z, dropout, is_training());
  }

 private:
  at::Tensor attend(const at::Tensor& x, const at::Tensor& mask) {
    const std::int64_t samples = x.size(0);
    const std::int64_t length = x.size(1);
    const auto parts = mix_(x)
                           .reshape({samples, length, 3, heads, width / heads})
                           .permute({2, 0, 3, 1, 4})  // {3, samples, heads, length, each}
                           .unbind(0);
    const double scale = 1 / std::sqrt(static_cast<double>(width / heads));
    const at::Tensor scores = at::matmul(parts[0], parts[1].transpose(-2, -1)) * scale + mask;
    const at::Tensor mixed = at::matmul(scores.softmax(-1), parts[2]);
    return out_(mixed.transpose(1, 2).reshape({samples, length, width}));
  }

  nn::LayerNorm norm1_{nullptr};
  nn::LayerNorm norm2_{nullptr};
  nn::Linear mix_{nullptr};
  nn::Linear out_{nullptr};
  nn::Linear up_{nullptr};
  nn::Linear down_{nullptr};
};

class Transformer : public nn::Module {
 public:
  Transformer() {
    letters_ = register_module("letters", nn::Embedding(verses::vocabulary, width));
    places_ = register_module("places", nn::Embedding(longest + 1, width));
    for (const at::Tensor& table : {letters_->weight, places_->weight}) {
      table.data().mul_(0.1);  // blocks start small; what they add should count
    }
    for (int i = 0; i < layers; ++i) {
      blocks_.push_back(register_module("block" + std::to_string(i), std::make_shared<Block>()));
    }
    norm_ = register_module("norm", nn::LayerNorm(nn::LayerNormOptions({width})));
    scores_ = register_module("scores", nn::Linear(width, verses::vocabulary));
  }

  // {samples, length} tokens -> {samples, length, vocabulary} scores of the next one
  at::Tensor forward(const at::Tensor& tokens) {
    const std::int64_t length = tokens.size(1);
    const auto on = tokens.options();
    at::Tensor x = letters_(tokens) + places_(at::arange(length, on));
    x = at::dropout(x, dropout, is_training());
    const at::Tensor mask =
        at::full({length, length}, -INFINITY, on.dtype(at::kFloat)).triu(/*diagonal=*/1);
    for (const auto& block : blocks_) x = block->forward(x, mask);
    return scores_(norm_(x));
  }

 private:
  nn::Embedding letters_{nullptr};
  nn::Embedding places_{nullptr};
  std::vector<std::shared_ptr<Block>> blocks_;
  nn::LayerNorm norm_{nullptr};
  nn::Linear scores_{nullptr};
};

class VerseSet : public Dataset {
 public:
  explicit VerseSet(std::vector<std::string> lines) : lines_(std::move(lines)) {}

  [[nodiscard]] std::size_t size() const override { return lines_.size(); }

  // As long as its longest verse. A verse's first input and its last target are the edge.
  [[nodiscard]] Result<Batch> batch(std::span<const std::uint32_t> indices) const override {
    std::vector<at::Tensor> inputs;
    std::vector<at::Tensor> targets;
    for (const std::uint32_t index : indices) {
      if (index >= lines_.size()) {
        return fail(ErrorCode::invalid_argument, "there is no verse " + std::to_string(index));
      }
      auto tokens = verses::tokens_of(lines_[index], longest);
      tokens.push_back(verses::edge);
      targets.push_back(at::tensor(tokens, at::kLong));
      tokens.insert(tokens.begin(), verses::edge);
      tokens.pop_back();
      inputs.push_back(at::tensor(tokens, at::kLong));
    }
    auto padded = easyscale::pad(inputs, verses::edge);
    return Batch{padded.values, easyscale::pad(targets, ignored).values, padded.lengths};
  }

 private:
  std::vector<std::string> lines_;
};

class VersesProgram : public TrainProgram {
 public:
  [[nodiscard]] std::shared_ptr<nn::Module> model() const override {
    return std::make_shared<Transformer>();
  }

  [[nodiscard]] Result<std::shared_ptr<const Dataset>> dataset(
      Split split, const std::string& path) const override {
    auto lines = path.empty() ? verses::print_verses() : verses::read_lines(path);
    if (!lines) return Failure(lines.error());
    const auto order =
        easyscale::permutation(split_seed, 0, static_cast<std::uint32_t>(lines->size()));
    const std::size_t test = std::max<std::size_t>(lines->size() / 29, 1);
    const bool train = split == Split::train;
    std::vector<std::string> part;
    for (std::size_t i = train ? test : 0; i < (train ? order.size() : test); ++i) {
      part.push_back(std::move((*lines)[order[i]]));
    }
    return std::make_shared<VerseSet>(std::move(part));
  }

  // Weights decay, the rest (biases, norms) does not.
  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    using Options = torch::optim::AdamWOptions;
    const auto matrices = std::stable_partition(parameters.begin(), parameters.end(),
                                                [](const at::Tensor& p) { return p.dim() > 1; });
    const auto options = Options(highest_rate).betas({0.9, 0.99});
    auto out = std::make_unique<torch::optim::AdamW>(
        std::vector<at::Tensor>(parameters.begin(), matrices), Options(options).weight_decay(0.1));
    out->add_param_group({std::vector<at::Tensor>(matrices, parameters.end()),
                          std::make_unique<Options>(Options(options).weight_decay(0))});
    return out;
  }

  void schedule(torch::optim::Optimizer& optimizer, std::uint64_t step,
                std::uint64_t steps) const override {
    easyscale::set_rate(optimizer,
                        highest_rate * easyscale::warmup_cosine(step, steps, warmup, 0.1));
  }

  [[nodiscard]] Forward forward(nn::Module& model, const Batch& batch) const override {
    const at::Tensor scores =
        static_cast<Transformer&>(model).forward(batch.inputs).to(at::kFloat).flatten(0, 1);
    const at::Tensor targets = batch.targets.flatten();
    const auto right = scores.detach().argmax(1).eq(targets).sum();
    const at::Tensor nats = nn::functional::cross_entropy(
        scores, targets, nn::functional::CrossEntropyFuncOptions().ignore_index(ignored));
    return {nats / std::log(2.0), right.item<std::int64_t>(),
            targets.ne(ignored).sum().item<std::int64_t>()};
  }
};

}  // namespace

std::shared_ptr<const TrainProgram> make_verses_program() {
  return std::make_shared<VersesProgram>();
}

}  // namespace troupe
