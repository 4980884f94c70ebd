// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/job/sampler.hpp"
#include "tests/unit/gpu/easyscale/job/floats.hpp"
#include "tests/unit/gpu/easyscale/job/simulation.hpp"

#include <cstring>

namespace troupe::easyscale::test {
namespace {

constexpr std::size_t parameters = 11;
constexpr std::size_t bytes_of_buffers = 8;
constexpr std::size_t bytes_of_context = sizeof(float);

class FakeTrainee : public Trainee {
 public:
  explicit FakeTrainee(Member member)
      : numbers_(awkward_floats(member, 2 * parameters)), buffers_(bytes_of_buffers) {}

  [[nodiscard]] std::size_t gradient_length() const override { return parameters; }
  [[nodiscard]] std::size_t buffer_bytes() const override { return bytes_of_buffers; }
  [[nodiscard]] std::size_t context_bytes() const override { return bytes_of_context; }

  Computed compute(Rank rank, std::uint64_t step) override {
    Computed out{{}, awkward_floats(random_at(step, rank), parameters), {}, {}};
    float own = own_of(rank);
    for (std::size_t i = 0; i < parameters; ++i) out.gradient[i] += 0.01F * numbers_[i] + own;
    own = 0.5F * own + out.gradient[1];
    const auto bytes = std::as_bytes(std::span(&own, 1));
    out.context.assign(bytes.begin(), bytes.end());
    out.report = {rank, static_cast<double>(out.gradient[0]), rank};
    if (rank == 0) {
      std::vector<std::byte> next = buffers_;
      for (auto& byte : next) byte = static_cast<std::byte>(std::to_integer<int>(byte) * 3 + 1);
      out.buffers = Slice::own(std::move(next));
    }
    return out;
  }

  void apply(const act::Apply& what) override {
    for (std::size_t i = 0; i < parameters; ++i) {
      float& momentum = numbers_[parameters + i];
      momentum = 0.9F * momentum + what.gradient[i];
      numbers_[i] -= 0.05F * momentum;
    }
    buffers_.assign(what.buffers.bytes().begin(), what.buffers.bytes().end());
    contexts_ = what.contexts;
  }

  [[nodiscard]] std::vector<std::byte> save() const override {
    const auto numbers = std::as_bytes(std::span(numbers_));
    std::vector<std::byte> out(numbers.begin(), numbers.end());
    out.insert(out.end(), buffers_.begin(), buffers_.end());
    out.insert(out.end(), contexts_.begin(), contexts_.end());
    return out;
  }

  void load(std::span<const std::byte> state) override {
    const auto numbers = std::as_writable_bytes(std::span(numbers_));
    std::memcpy(numbers.data(), state.data(), numbers.size());
    const auto rest = state.subspan(numbers.size());
    buffers_.assign(rest.begin(), rest.begin() + bytes_of_buffers);
    contexts_.assign(rest.begin() + bytes_of_buffers, rest.end());
  }

 private:
  // What the rank has kept of its earlier steps.
  [[nodiscard]] float own_of(Rank rank) const {
    float own = 0;
    if (!contexts_.empty()) {
      std::memcpy(&own, contexts_.data() + rank * bytes_of_context, bytes_of_context);
    }
    return own;
  }

  std::vector<float> numbers_;  // parameters, then momentum
  std::vector<std::byte> buffers_;
  std::vector<std::byte> contexts_;  // of all ranks; none before the first step
};

}  // namespace

std::unique_ptr<Trainee> make_fake_trainee(Member member) {
  return std::make_unique<FakeTrainee>(member);
}

}  // namespace troupe::easyscale::test
