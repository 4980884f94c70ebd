// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/layout_reader.hpp"

#include <ATen/ATen.h>
#include <torch/optim/optimizer.h>

#include <array>
#include <map>
#include <utility>
#include <vector>

namespace troupe::easyscale {
namespace {

Dtype dtype_of(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBool:
      return Dtype::boolean;
    case at::kByte:
      return Dtype::u8;
    case at::kChar:
      return Dtype::i8;
    case at::kShort:
      return Dtype::i16;
    case at::kInt:
      return Dtype::i32;
    case at::kLong:
      return Dtype::i64;
    case at::kHalf:
      return Dtype::f16;
    case at::kBFloat16:
      return Dtype::bf16;
    case at::kDouble:
      return Dtype::f64;
    default:
      return Dtype::f32;
  }
}

// The kinds of optimizer_state.cpp by their number there, less one.
struct OptimizerKind {
  const char* name;
  std::vector<const char*> slots;
};
const std::array<OptimizerKind, 3>& optimizer_kinds() {
  static const std::array<OptimizerKind, 3> kinds = {
      {{"sgd", {"momentum_buffer"}},
       {"adam", {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}},
       {"adamw", {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}}}};
  return kinds;
}

}  // namespace

void LayoutReader::take(const std::string& name, const at::Tensor& like) {
  const auto sizes = like.sizes();
  take({name, dtype_of(like), {sizes.begin(), sizes.end()}}, like.nbytes());
}

void LayoutReader::take(TensorInfo info, std::size_t size) {
  const auto bytes = good_ ? in_.get_bytes(size) : std::nullopt;
  good_ = bytes.has_value();
  if (!good_) return;
  const auto offset = static_cast<std::uint64_t>(bytes->data() - saved_.data());
  layout_.tensors.push_back({std::move(info), offset});
}

void LayoutReader::take_optimizer(const torch::optim::Optimizer& optimizer,
                                  const torch::OrderedDict<std::string, at::Tensor>& names) {
  std::map<const void*, std::string> name_of;
  for (const auto& item : names) name_of[item.value().unsafeGetTensorImpl()] = item.key();
  const auto kind = in_.get<std::uint32_t>();
  const auto count = in_.get<std::uint64_t>();
  std::vector<at::Tensor> parameters;
  for (const auto& group : optimizer.param_groups()) {
    parameters.insert(parameters.end(), group.params().begin(), group.params().end());
  }
  good_ =
      good_ && kind && *kind > 0 && *kind <= optimizer_kinds().size() && count == parameters.size();
  if (!good_) return;
  const OptimizerKind& known = optimizer_kinds().at(*kind - 1);
  layout_.optimizer = known.name;
  for (const at::Tensor& parameter : parameters) {
    const std::string prefix = "optimizer." + name_of[parameter.unsafeGetTensorImpl()] + ".";
    const auto has = in_.get<std::uint8_t>();
    good_ = good_ && has;
    if (!good_ || *has == 0) continue;
    take({prefix + "step", Dtype::i64, {}}, sizeof(std::int64_t));
    for (const char* slot : known.slots) {
      const auto there = in_.get<std::uint8_t>();
      good_ = good_ && there;
      if (good_ && *there != 0) take(prefix + slot, parameter);
    }
  }
}

Result<StateLayout> LayoutReader::done() {
  if (good_ && in_.empty()) return std::move(layout_);
  return fail(ErrorCode::corrupt, "these bytes are no saved training state of this model");
}

}  // namespace troupe::easyscale
