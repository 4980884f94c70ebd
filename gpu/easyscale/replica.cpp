// SPDX-License-Identifier: Apache-2.0
// An EasyScaleThread (arXiv 2208.14228, section 3.1) with as little context as possible: the
// generator is seeded from (seed, step, rank), the data come from a pure sampler, and every rank
// starts from the buffers that rank 0 left in the step before. What a program registers beyond that
// is swapped in and out. So a rank's gradient is the same wherever it runs.
#include "gpu/easyscale/replica.hpp"

#include "gpu/easyscale/byte_stream.hpp"
#include "gpu/easyscale/checkpoint/layout_reader.hpp"
#include "gpu/easyscale/engine/flat_tensors.hpp"
#include "gpu/easyscale/engine/gradient_norm.hpp"
#include "gpu/easyscale/job/sampler.hpp"
#include "gpu/easyscale/numerics.hpp"
#include "gpu/easyscale/optimizer_state.hpp"
#include "gpu/easyscale/torch_compat.hpp"
#include "gpu/easyscale/train_program.hpp"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <malloc.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <new>
#include <string_view>
#include <utility>

namespace troupe::easyscale {
namespace {

constexpr std::uint64_t state_magic = 0x5441545352544E54ULL;  // "TNTRSTAT"
constexpr std::uint32_t state_version = 2;
constexpr std::uint32_t evaluation_batch = 64;
constexpr std::uint64_t model_tag = 3;  // beside the sampler's

// Adds the time of a scope to a sum.
class Stopwatch {
 public:
  explicit Stopwatch(Seconds& sum) : sum_(sum) {}
  ~Stopwatch() { sum_ += std::chrono::steady_clock::now() - began_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  Seconds& sum_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Result<at::Device> device_of(const std::string& name) {
  try {
    at::Device device(name);
    if (device.is_cuda() && !at::hasCUDA()) {
      return fail(ErrorCode::unavailable,
                  "device " + name + ": there is no CUDA device here, or torch was built without");
    }
    return device;
  } catch (const c10::Error& fault) {
    return fail(ErrorCode::invalid_argument,
                "device " + name + ": torch knows none of that name; such as cpu or cuda");
  }
}

// Torch's allocators say so in different ways.
bool is_out_of_memory(const std::exception& fault) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&fault) != nullptr) return true;
  if (dynamic_cast<const std::bad_alloc*>(&fault) != nullptr) return true;
  const std::string_view words = fault.what();
  return words.find("DefaultCPUAllocator") != std::string_view::npos ||
         words.find("out of memory") != std::string_view::npos;
}

bool is_among(const at::Tensor& tensor, const std::vector<at::Tensor>& others) {
  return std::any_of(others.begin(), others.end(),
                     [&](const at::Tensor& other) { return other.is_same(tensor); });
}

}  // namespace

struct Replica::Impl {
  std::shared_ptr<const TrainProgram> program;
  ReplicaOptions options;
  at::Device device = at::kCPU;
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  std::optional<Sampler> sampler;
  std::shared_ptr<torch::nn::Module> model;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::vector<at::Tensor> parameters;
  std::vector<at::Tensor> buffers;
  std::size_t buffer_bytes = 0;
  std::vector<std::byte> published;   // the buffers at the start of the step
  std::vector<at::Tensor> own_state;  // what the ranks have a value each of
  std::size_t context_bytes = 0;      // of those, together
  std::vector<std::byte> contexts;    // of all ranks, at the start of the step
  std::vector<float> gradient;        // of the last rank that ran
  std::uint64_t step = 0;
  Spent spent;

  // Torch's state that other replicas of this process may have changed.
  [[nodiscard]] std::unique_lock<std::mutex> lease() const {
    std::unique_lock lock(*options.lease);
    pin_numerics();
    return lock;
  }

  Result<void> open_data();
  Result<void> build();
  Result<void> check_parameters() const;
  Result<void> register_rank_state();
  [[nodiscard]] std::span<const std::byte> context_of(Rank rank) const {
    return std::span(contexts).subspan(rank * context_bytes, context_bytes);
  }
  void swap_in(Rank rank);
  void swap_out(Rank rank, RankResult& out);
  Result<RankResult> attempt(Rank rank);
  void free_memory();
  Result<void> compute(RankReport& report);
  [[nodiscard]] Forward forward(const Batch& samples) const;
  [[nodiscard]] Error bad_loss(Rank rank, double loss) const;
  void stage_gradient();
  [[nodiscard]] Result<Batch> batch(const Dataset& from,
                                    std::span<const std::uint32_t> indices) const;
};

Result<void> Replica::Impl::open_data() {
  for (const Split split : {Split::train, Split::test}) {
    auto opened = program->dataset(split, options.data);
    if (!opened) return Failure(opened.error());
    (split == Split::train ? train : test) = std::move(*opened);
  }
  auto made =
      Sampler::make(options.seed, train->size(), options.ranks, options.batch * options.accumulate);
  if (!made) return Failure(made.error());
  sampler = std::move(*made);
  return {};
}

Result<void> Replica::Impl::build() {
  at::manual_seed(random_at(options.seed, model_tag));
  model = program->model();
  model->to(device);
  parameters = model->parameters();
  buffers = model->buffers();
  if (auto ok = check_parameters(); !ok) return ok;
  if (auto ok = register_rank_state(); !ok) return ok;
  optimizer = program->optimizer(parameters);
  if (auto ok = check_optimizer(*optimizer, parameters); !ok) return ok;
  buffer_bytes = total_bytes(buffers);
  published.resize(buffer_bytes);
  gather(buffers, published.data());
  gradient.resize(total_bytes(parameters) / sizeof(float));
  return {};
}

Result<void> Replica::Impl::check_parameters() const {
  for (const auto& item : model->named_parameters()) {
    if (item.value().scalar_type() == at::kFloat) continue;
    return fail(ErrorCode::invalid_argument, "parameter " + item.key() + " is " +
                                                 c10::toString(item.value().scalar_type()) +
                                                 "; elastic training handles Float (float32) only");
  }
  if (parameters.empty()) return fail(ErrorCode::invalid_argument, "the model has no parameters");
  return {};
}

Result<void> Replica::Impl::register_rank_state() {
  own_state = program->rank_state(*model);
  for (const at::Tensor& tensor : own_state) {
    if (!tensor.defined() || tensor.requires_grad() || is_among(tensor, parameters)) {
      return fail(
          ErrorCode::invalid_argument,
          "what a rank keeps for itself must be a tensor of the model that is no parameter");
    }
  }
  std::erase_if(buffers, [&](const at::Tensor& buffer) { return is_among(buffer, own_state); });
  context_bytes = total_bytes(own_state);
  contexts.resize(options.ranks * context_bytes);
  for (Rank rank = 0; rank < options.ranks && context_bytes > 0; ++rank) {
    gather(own_state, contexts.data() + rank * context_bytes);
  }
  return {};
}

void Replica::Impl::swap_in(Rank rank) {
  const Stopwatch watch(spent.swap);
  scatter(published, buffers);
  scatter(context_of(rank), own_state);
  at::manual_seed(rank_seed(options.seed, step, rank));
}

void Replica::Impl::swap_out(Rank rank, RankResult& out) {
  const Stopwatch watch(spent.swap);
  out.context.resize(context_bytes);
  gather(own_state, out.context.data());
  if (rank != 0) return;
  std::vector<std::byte> left(buffer_bytes);
  gather(buffers, left.data());
  out.buffers = Slice::own(std::move(left));
}

// The forward and backward passes of one rank, whose context is in place: one for each micro-batch,
// whose gradients torch adds up in this order.
Result<void> Replica::Impl::compute(RankReport& report) {
  const Stopwatch watch(spent.compute);
  model->train();
  for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
  const auto samples = sampler->batch(step, report.rank);
  for (std::uint32_t part = 0; part < options.accumulate; ++part) {
    auto one = batch(*train, std::span(samples).subspan(part * options.batch, options.batch));
    if (!one) return Failure(one.error());
    const Forward result = forward(*one);
    const auto loss = result.loss.item<double>();
    if (!std::isfinite(loss)) return Failure(bad_loss(report.rank, loss));
    report.loss += loss / options.accumulate;
    report.correct += static_cast<std::uint32_t>(result.correct);
    report.counted += static_cast<std::uint32_t>(result.counted);
    (options.accumulate == 1 ? result.loss : result.loss / static_cast<double>(options.accumulate))
        .backward();
  }
  return {};
}

Forward Replica::Impl::forward(const Batch& samples) const {
  const Autocast autocast(device.type(), options.bf16);
  Forward out = program->forward(*model, samples);
  if (out.counted == 0) out.counted = samples.inputs.size(0);
  return out;
}

Error Replica::Impl::bad_loss(Rank rank, double loss) const {
  return {ErrorCode::invalid_argument,
          "the loss of virtual rank " + std::to_string(rank) + " in step " + std::to_string(step) +
              " is " + std::to_string(loss) + ": lower the learning rate or look at the data"};
}

void Replica::Impl::stage_gradient() {
  const Stopwatch watch(spent.staging);
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& parameter : parameters) {
    gradients.push_back(parameter.grad().defined() ? parameter.grad()
                                                   : at::zeros_like(parameter.detach()));
  }
  gather(gradients, reinterpret_cast<std::byte*>(gradient.data()));
}

Result<Batch> Replica::Impl::batch(const Dataset& from,
                                   std::span<const std::uint32_t> indices) const {
  auto got = from.batch(indices);
  if (!got) return got;
  if (got->lengths.defined()) got->lengths = got->lengths.to(device);
  return Batch{got->inputs.to(device), got->targets.to(device), got->lengths};
}

Result<Replica> Replica::make(std::shared_ptr<const TrainProgram> program, ReplicaOptions options) {
  auto impl = std::make_unique<Impl>();
  auto device = device_of(options.device);
  if (!device) return Failure(device.error());
  impl->device = *device;
  impl->program = std::move(program);
  impl->options = std::move(options);
  const auto lease = impl->lease();
  if (auto ok = impl->open_data(); !ok) return Failure(ok.error());
  if (auto ok = impl->build(); !ok) return Failure(ok.error());
  return Replica(std::move(impl));
}

Replica::Replica(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Replica::Replica(Replica&&) noexcept = default;
Replica& Replica::operator=(Replica&&) noexcept = default;
Replica::~Replica() = default;

std::uint64_t Replica::steps_per_epoch() const { return impl_->sampler->steps_per_epoch(); }
std::uint64_t Replica::steps() const { return steps_per_epoch() * impl_->options.epochs; }
std::size_t Replica::gradient_length() const { return impl_->gradient.size(); }
std::size_t Replica::buffer_bytes() const { return impl_->buffer_bytes; }
std::size_t Replica::context_bytes() const { return impl_->context_bytes; }
ModuleScan Replica::scan() const { return scan_modules(*impl_->model); }
const Replica::Spent& Replica::spent() const { return impl_->spent; }
std::uint64_t Replica::step() const { return impl_->step; }

Result<Replica::RankResult> Replica::run_rank(Rank rank) {
  Impl& it = *impl_;
  const auto lease = it.lease();
  try {
    return it.attempt(rank);
  } catch (const std::exception& fault) {
    if (!is_out_of_memory(fault)) throw;
  }
  // Nothing of a rank outlives its attempt, so the second one gives the bits of the first.
  it.free_memory();
  try {
    return it.attempt(rank);
  } catch (const std::exception& fault) {
    if (!is_out_of_memory(fault)) throw;
    it.free_memory();
    return fail(ErrorCode::resource_exhausted,
                "virtual rank " + std::to_string(rank) + " ran out of memory in step " +
                    std::to_string(it.step) +
                    ", twice: lower batch, and raise accumulate by as much");
  }
}

Result<Replica::RankResult> Replica::Impl::attempt(Rank rank) {
  swap_in(rank);
  RankResult out;
  out.report.rank = rank;
  if (auto ok = compute(out.report); !ok) return Failure(ok.error());
  stage_gradient();
  out.gradient = gradient;
  swap_out(rank, out);
  return out;
}

// Gives back what the process holds and does not use. Torch's caching allocators of devices have
// done that by themselves before they throw.
void Replica::Impl::free_memory() {
  for (at::Tensor& parameter : parameters) parameter.mutable_grad() = at::Tensor();
  ::malloc_trim(0);
}

Result<void> Replica::apply(std::span<const float> gradient, std::span<const std::byte> buffers,
                            std::span<const std::byte> contexts) {
  Impl& it = *impl_;
  if (gradient.size() != it.gradient.size() || buffers.size() != it.buffer_bytes ||
      contexts.size() != it.contexts.size()) {
    return fail(ErrorCode::internal, "a gradient, buffers or contexts of another model");
  }
  const auto lease = it.lease();
  const double norm = gradient_norm(gradient);
  if (!std::isfinite(norm)) {
    return fail(ErrorCode::invalid_argument,
                "the gradient of step " + std::to_string(it.step) +
                    " is not finite: lower the learning rate or look at the data");
  }
  const float factor = clip_factor(norm, it.options.clip_norm);
  for (at::Tensor& parameter : it.parameters) {
    const at::Tensor flat = at::empty(parameter.sizes(), at::TensorOptions(at::kFloat));
    std::memcpy(flat.data_ptr(), gradient.data(), flat.nbytes());
    gradient = gradient.subspan(static_cast<std::size_t>(flat.numel()));
    if (factor != 1.0F) flat.mul_(factor);
    parameter.mutable_grad() = flat.to(it.device);
  }
  it.program->schedule(*it.optimizer, it.step, steps());
  it.optimizer->step();
  it.published.assign(buffers.begin(), buffers.end());
  it.contexts.assign(contexts.begin(), contexts.end());
  ++it.step;
  return {};
}

Result<Replica::Accuracy> Replica::evaluate() {
  Impl& it = *impl_;
  const auto lease = it.lease();
  const at::NoGradGuard no_grad;
  scatter(it.published, it.buffers);
  scatter(it.context_of(0), it.own_state);
  it.model->eval();
  Accuracy out;
  const auto size = static_cast<std::uint32_t>(it.test->size());
  for (std::uint32_t first = 0; first < size; first += evaluation_batch) {
    std::vector<std::uint32_t> indices;
    for (std::uint32_t i = first; i < std::min(first + evaluation_batch, size); ++i) {
      indices.push_back(i);
    }
    auto batch = it.batch(*it.test, indices);
    if (!batch) return Failure(batch.error());
    const Forward result = it.forward(*batch);
    out.correct += static_cast<std::uint64_t>(result.correct);
    out.counted += static_cast<std::uint64_t>(result.counted);
    out.loss += result.loss.item<double>() * static_cast<double>(result.counted);
  }
  if (out.counted > 0) out.loss /= static_cast<double>(out.counted);
  return out;
}

std::vector<std::byte> Replica::parameter_bytes() const {
  static_assert(std::endian::native == std::endian::little);
  std::vector<std::byte> out(impl_->gradient.size() * sizeof(float));
  gather(impl_->parameters, out.data());
  return out;
}

std::vector<std::byte> Replica::save() const {
  const Impl& it = *impl_;
  const auto lease = it.lease();
  ByteWriter out;
  const std::size_t size = it.gradient.size() * sizeof(float);
  out.reserve(5 * size + it.buffer_bytes + it.contexts.size() + 4096);
  out.put(state_magic);
  out.put(state_version);
  out.put(it.step);
  out.put<std::uint64_t>(size);
  out.put<std::uint64_t>(it.buffer_bytes);
  out.put<std::uint64_t>(it.contexts.size());
  out.put_bytes(parameter_bytes());
  out.put_bytes(it.published);
  out.put_bytes(it.contexts);
  write_optimizer(*it.optimizer, out);
  return out.take();
}

Result<StateLayout> Replica::state_layout(std::span<const std::byte> saved) const {
  const Impl& it = *impl_;
  LayoutReader in(saved);
  in.skip(sizeof(state_magic) + sizeof(state_version) + 4 * sizeof(std::uint64_t));
  for (const auto& item : it.model->named_parameters()) in.take(item.key(), item.value());
  std::vector<std::string> own(it.own_state.size());
  for (const auto& item : it.model->named_buffers()) {
    const auto at = std::find_if(it.own_state.begin(), it.own_state.end(),
                                 [&](const at::Tensor& one) { return one.is_same(item.value()); });
    if (at == it.own_state.end()) {
      in.take(item.key(), item.value());
    } else {
      own[static_cast<std::size_t>(at - it.own_state.begin())] = item.key();
    }
  }
  for (Rank rank = 0; rank < it.options.ranks; ++rank) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::string name = own[i].empty() ? std::to_string(i) : own[i];
      in.take("rank." + std::to_string(rank) + "." + name, it.own_state[i]);
    }
  }
  in.take_optimizer(*it.optimizer, it.model->named_parameters());
  return in.done();
}

Result<void> Replica::load(std::span<const std::byte> state) {
  Impl& it = *impl_;
  const auto lease = it.lease();
  ByteReader in(state);
  if (in.get<std::uint64_t>() != state_magic) {
    return fail(ErrorCode::corrupt, "these bytes are no saved training state");
  }
  if (const auto version = in.get<std::uint32_t>(); version != state_version) {
    return fail(ErrorCode::version_mismatch,
                "a saved training state of version " + std::to_string(version.value_or(0)) +
                    "; this program reads version " + std::to_string(state_version));
  }
  const auto step = in.get<std::uint64_t>();
  const std::size_t parameter_bytes = it.gradient.size() * sizeof(float);
  if (!step || in.get<std::uint64_t>() != parameter_bytes ||
      in.get<std::uint64_t>() != it.buffer_bytes || in.get<std::uint64_t>() != it.contexts.size()) {
    return fail(ErrorCode::corrupt, "the saved training state is of another model");
  }
  const auto parameters = in.get_bytes(parameter_bytes);
  const auto buffers = in.get_bytes(it.buffer_bytes);
  const auto contexts = in.get_bytes(it.contexts.size());
  if (!parameters || !buffers || !contexts) {
    return fail(ErrorCode::corrupt, "the saved training state is cut short");
  }
  if (auto ok = read_optimizer(*it.optimizer, in); !ok) return ok;
  scatter(*parameters, it.parameters);
  it.published.assign(buffers->begin(), buffers->end());
  it.contexts.assign(contexts->begin(), contexts->end());
  it.step = *step;
  return {};
}

}  // namespace troupe::easyscale
