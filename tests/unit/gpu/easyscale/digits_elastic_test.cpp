// SPDX-License-Identifier: Apache-2.0
// The real model on the real digits through the whole protocol, in one process.
#include "apps/examples/digits/digits.hpp"
#include "gpu/easyscale/numerics.hpp"
#include "gpu/easyscale/replica.hpp"
#include "gpu/easyscale/train_program.hpp"
#include "tests/support/why.hpp"
#include "tests/unit/gpu/easyscale/job/simulation.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <boost/test/unit_test.hpp>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

namespace troupe::easyscale::test {
namespace {

constexpr Rank ranks = 8;

class DigitsTrainee : public Trainee {
 public:
  explicit DigitsTrainee(std::shared_ptr<const TrainProgram> program)
      : replica_(made(std::move(program))) {}

  [[nodiscard]] std::size_t gradient_length() const override { return replica_.gradient_length(); }
  [[nodiscard]] std::size_t buffer_bytes() const override { return replica_.buffer_bytes(); }
  [[nodiscard]] std::size_t context_bytes() const override { return replica_.context_bytes(); }
  Computed compute(Rank rank, std::uint64_t step) override {
    BOOST_TEST(replica_.step() == step);
    const auto result = replica_.run_rank(rank);
    BOOST_REQUIRE_MESSAGE(result, troupe::test::why(result));
    return {result->report,
            {result->gradient.begin(), result->gradient.end()},
            result->buffers,
            result->context};
  }
  void apply(const act::Apply& what) override {
    BOOST_REQUIRE(replica_.apply(what.gradient, what.buffers.bytes(), what.contexts));
  }
  [[nodiscard]] std::vector<std::byte> save() const override { return replica_.save(); }
  void load(std::span<const std::byte> state) override { BOOST_REQUIRE(replica_.load(state)); }

 private:
  static Replica made(std::shared_ptr<const TrainProgram> program) {
    auto replica = Replica::make(std::move(program), {7, ranks, 8, 1, "", "cpu"});
    BOOST_REQUIRE_MESSAGE(replica, troupe::test::why(replica));
    return std::move(*replica);
  }

  Replica replica_;
};

// Digits as they would be trained without a generator state per rank: whatever a rank draws goes on
// where the rank before it, in the same process, has stopped.
class OneGenerator : public TrainProgram {
 public:
  [[nodiscard]] std::shared_ptr<torch::nn::Module> model() const override { return in_->model(); }
  [[nodiscard]] Result<std::shared_ptr<const Dataset>> dataset(
      Split split, const std::string& path) const override {
    return in_->dataset(split, path);
  }
  [[nodiscard]] std::unique_ptr<torch::optim::Optimizer> optimizer(
      std::vector<at::Tensor> parameters) const override {
    return in_->optimizer(std::move(parameters));
  }
  [[nodiscard]] Forward forward(torch::nn::Module& model, const Batch& batch) const override {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    if (state_.defined()) generator.set_state(state_);
    Forward out = in_->forward(model, batch);
    state_ = generator.get_state();
    return out;
  }

 private:
  std::shared_ptr<const TrainProgram> in_ = make_digits_program();
  mutable at::Tensor state_;
};

Scenario scenario(std::uint32_t count) {
  Scenario out;
  out.count = count;
  out.ranks = ranks;
  out.steps_per_epoch = 3;
  out.trainee = [](Member) { return std::make_unique<DigitsTrainee>(make_digits_program()); };
  return out;
}

std::string parameters_of(Scenario scenario) {
  const Finding found = Simulation(std::move(scenario)).run();
  BOOST_REQUIRE_MESSAGE(found.finished && found.trouble.empty(), found.trouble);
  return found.sha256;
}

BOOST_AUTO_TEST_CASE(digits_are_the_same_bits_for_1_2_3_and_8_trainers_and_with_deaths) {
  const std::string expected = parameters_of(scenario(1));
  for (const std::uint32_t count : {2U, 3U, 8U}) {
    BOOST_TEST(parameters_of(scenario(count)) == expected, count << " trainers");
  }
  Scenario deadly = scenario(3);
  deadly.faults = {{1, FaultPhase::forward, 1},
                   {2, FaultPhase::exchange, 0},
                   {4, FaultPhase::optimizer, 0},
                   {4, FaultPhase::optimizer, 1},
                   {4, FaultPhase::optimizer, 2}};
  BOOST_TEST(parameters_of(deadly) == expected, "with five deaths");
}

BOOST_AUTO_TEST_CASE(without_a_generator_state_per_rank_the_bits_would_differ) {
  const auto shared_generator = [](std::uint32_t count) {
    Scenario out = scenario(count);
    out.trainee = [](Member) {
      return std::make_unique<DigitsTrainee>(std::make_shared<OneGenerator>());
    };
    return parameters_of(out);
  };
  BOOST_TEST(shared_generator(1) != shared_generator(3));
}

BOOST_AUTO_TEST_CASE(taking_turns_costs_little) {
  auto replica = Replica::make(make_digits_program(), {7, ranks, 8, 1, "", "cpu"});
  BOOST_REQUIRE_MESSAGE(replica, troupe::test::why(replica));
  for (Rank turn = 0; turn < 20 * ranks; ++turn) BOOST_REQUIRE(replica->run_rank(turn % ranks));
  const auto& spent = replica->spent();
  const double swap = spent.swap / spent.compute;
  const double staging = spent.staging / spent.compute;
  BOOST_TEST_MESSAGE("of the time of a rank's forward and backward pass, swapping contexts takes "
                     << 100 * swap << " %, staging gradients " << 100 * staging << " %");
  BOOST_TEST(swap < 0.05);
  BOOST_TEST(staging < 0.05);
}

BOOST_AUTO_TEST_CASE(the_fingerprint_names_all_that_decides_about_bits) {
  pin_numerics();
  const std::string line = numeric_fingerprint(Determinism::d1);
  for (const char* name : {"D1, torch ", "blas ", "capability ", "onednn ", "cpu ", "threads 1"}) {
    BOOST_TEST(line.find(name) != std::string::npos, line);
  }
  // What is kept to one instruction set does not depend on the others that a CPU has.
  BOOST_TEST(numeric_fingerprint(Determinism::d2).find("cpu ") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_process_that_was_not_started_for_d2_cannot_honour_it) {
  BOOST_TEST(check_numerics(Determinism::d1).has_value());
  const auto refused = check_numerics(Determinism::d2);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().what.find("ONEDNN_MAX_CPU_ISA is not set") != std::string::npos,
             refused.error().what);
}

BOOST_AUTO_TEST_CASE(a_scan_says_what_the_model_is_made_of) {
  const auto replica = Replica::make(make_digits_program(), {7, ranks, 8, 1, "", "cpu"});
  BOOST_REQUIRE_MESSAGE(replica, troupe::test::why(replica));
  const ModuleScan scan = replica->scan();
  BOOST_TEST(scan.text() == "38,378 parameters in 2 BatchNorm2d, 2 Conv2d, 2 Linear");
  BOOST_TEST(scan.costs().find("2 convolution(s)") != std::string::npos, scan.costs());
}

}  // namespace
}  // namespace troupe::easyscale::test
