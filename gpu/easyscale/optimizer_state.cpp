// SPDX-License-Identifier: Apache-2.0
// Optimizer state by parameter number, because torch files it by address. A record is: has it (one
// byte), step (64 bits), and for each slot of the optimizer's kind: has it (one byte), float32
// values, as many as the parameter has.
#include "gpu/easyscale/optimizer_state.hpp"

#include "gpu/easyscale/torch_compat.hpp"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <memory>
#include <string>

namespace troupe::easyscale {
namespace {

using torch::optim::Optimizer;
using torch::optim::OptimizerParamState;

enum class Kind : std::uint32_t { unknown, sgd, adam, adamw };

Kind kind_of(const Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer) != nullptr) return Kind::sgd;
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer) != nullptr) return Kind::adam;
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer) != nullptr) return Kind::adamw;
  return Kind::unknown;
}

std::vector<at::Tensor> parameters_of(const Optimizer& optimizer) {
  std::vector<at::Tensor> out;
  for (const auto& group : optimizer.param_groups()) {
    out.insert(out.end(), group.params().begin(), group.params().end());
  }
  return out;
}

std::size_t slot_count(Kind kind) { return kind == Kind::sgd ? 1 : 3; }

// One parameter's state, whatever the optimizer.
struct Record {
  std::int64_t step = 0;
  std::vector<at::Tensor> slots;
};

template <class State>
Record moments_of(const OptimizerParamState& state) {
  const auto& it = static_cast<const State&>(state);
  return {it.step(), {it.exp_avg(), it.exp_avg_sq(), it.max_exp_avg_sq()}};
}

template <class State>
std::unique_ptr<OptimizerParamState> moments_from(const Record& record) {
  auto state = std::make_unique<State>();
  state->step(record.step);
  state->exp_avg(record.slots[0]);
  state->exp_avg_sq(record.slots[1]);
  state->max_exp_avg_sq(record.slots[2]);
  return state;
}

Record record_of(Kind kind, const OptimizerParamState& state) {
  if (kind == Kind::adam) return moments_of<torch::optim::AdamParamState>(state);
  if (kind == Kind::adamw) return moments_of<torch::optim::AdamWParamState>(state);
  return {0, {static_cast<const torch::optim::SGDParamState&>(state).momentum_buffer()}};
}

std::unique_ptr<OptimizerParamState> state_from(Kind kind, const Record& record) {
  if (kind == Kind::adam) return moments_from<torch::optim::AdamParamState>(record);
  if (kind == Kind::adamw) return moments_from<torch::optim::AdamWParamState>(record);
  auto state = std::make_unique<torch::optim::SGDParamState>();
  state->momentum_buffer(record.slots[0]);
  return state;
}

void write_record(const Record& record, ByteWriter& out) {
  out.put(record.step);
  for (const at::Tensor& slot : record.slots) {
    out.put<std::uint8_t>(slot.defined() ? 1 : 0);
    if (!slot.defined()) continue;
    const at::Tensor flat = slot.detach().to(at::kCPU).contiguous();
    out.put_bytes({static_cast<const std::byte*>(flat.data_ptr()), flat.nbytes()});
  }
}

Failure cut_short() {
  return fail(ErrorCode::corrupt, "the optimizer's state is cut short or not one");
}

Result<Record> read_record(std::size_t slots, const at::Tensor& parameter, ByteReader& in) {
  const auto step = in.get<std::int64_t>();
  if (!step) return cut_short();
  Record record{*step, std::vector<at::Tensor>(slots)};
  for (at::Tensor& slot : record.slots) {
    const auto there = in.get<std::uint8_t>();
    if (!there || *there > 1) return cut_short();
    if (*there == 0) continue;
    const auto bytes = in.get_bytes(static_cast<std::size_t>(parameter.numel()) * sizeof(float));
    if (!bytes) return cut_short();
    slot = at::empty(parameter.sizes(), at::TensorOptions(at::kFloat));
    std::memcpy(slot.data_ptr(), bytes->data(), bytes->size());
    slot = slot.to(parameter.device());
  }
  return record;
}

}  // namespace

Result<void> check_optimizer(const Optimizer& optimizer,
                             const std::vector<at::Tensor>& parameters) {
  if (kind_of(optimizer) == Kind::unknown) {
    return fail(ErrorCode::invalid_argument,
                "elastic training carries the state of SGD, Adam and AdamW only: use one of them");
  }
  const auto mine = parameters_of(optimizer);
  if (mine.empty()) return fail(ErrorCode::invalid_argument, "the optimizer has no parameters");
  for (const at::Tensor& parameter : mine) {
    if (std::none_of(parameters.begin(), parameters.end(),
                     [&](const at::Tensor& one) { return one.is_same(parameter); })) {
      return fail(ErrorCode::invalid_argument,
                  "the optimizer has a parameter that is none of the model's");
    }
  }
  return {};
}

void write_optimizer(const Optimizer& optimizer, ByteWriter& out) {
  const Kind kind = kind_of(optimizer);
  const auto parameters = parameters_of(optimizer);
  out.put(kind);
  out.put<std::uint64_t>(parameters.size());
  for (const at::Tensor& parameter : parameters) {
    const auto found = optimizer.state().find(optimizer_key(optimizer, parameter));
    const bool has = found != optimizer.state().end();
    out.put<std::uint8_t>(has ? 1 : 0);
    if (has) write_record(record_of(kind, *found->second), out);
  }
}

Result<void> read_optimizer(Optimizer& optimizer, ByteReader& in) {
  const Kind kind = kind_of(optimizer);
  const auto parameters = parameters_of(optimizer);
  if (in.get<Kind>() != kind || in.get<std::uint64_t>() != parameters.size()) {
    return fail(ErrorCode::corrupt, "the optimizer's state is of another optimizer or model");
  }
  std::vector<std::unique_ptr<OptimizerParamState>> states(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto has = in.get<std::uint8_t>();
    if (!has || *has > 1) return cut_short();
    if (*has == 0) continue;
    auto record = read_record(slot_count(kind), parameters[i], in);
    if (!record) return Failure(record.error());
    states[i] = state_from(kind, *record);
  }
  if (!in.empty()) return fail(ErrorCode::corrupt, "there is more than an optimizer's state");
  optimizer.state().clear();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (states[i]) {
      optimizer.state()[optimizer_key(optimizer, parameters[i])] = std::move(states[i]);
    }
  }
  return {};
}

}  // namespace troupe::easyscale
