// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/engine/script_program.hpp"

#include "gpu/easyscale/replica.hpp"
#include "gpu/easyscale/train_program.hpp"
#include "tests/support/scratch.hpp"
#include "tests/support/why.hpp"

#include <ATen/ATen.h>
#include <ATen/core/jit_type.h>
#include <boost/test/unit_test.hpp>
#include <torch/csrc/jit/api/module.h>

namespace troupe::easyscale {
namespace {

// What torch.jit.script(model).save() would leave: a linear layer inside a module, with dropout.
void save_model(const std::string& file) {
  torch::jit::Module inner("inner");
  inner.register_attribute("training", c10::BoolType::get(), true);
  inner.register_parameter("weight", at::linspace(-1, 1, 6).reshape({3, 2}).set_requires_grad(true),
                           false);
  inner.define("def forward(self, x):\n  return torch.matmul(x, self.weight)\n");
  torch::jit::Module model("model");
  model.register_attribute("training", c10::BoolType::get(), true);
  model.register_module("inner", inner);
  model.register_parameter("bias", at::zeros({2}).set_requires_grad(true), false);
  model.register_buffer("calls", at::zeros({1}));
  model.define(
      "def forward(self, x):\n"
      "  if self.training:\n"
      "    self.calls.add_(1)\n"
      "  return self.inner.forward(torch.dropout(x, 0.1, self.training)) + self.bias\n");
  model.save(file);
}

void save_data(const std::string& file, bool classes, std::int64_t targets = 64) {
  torch::jit::Module data("data");
  for (const char* part : {"train", "test"}) {
    const at::Tensor inputs = at::arange(64 * 3, at::kFloat).reshape({64, 3}).sin();
    const at::Tensor first = inputs.slice(1, 0, 2).contiguous().slice(0, 0, targets);
    data.register_buffer(std::string(part) + "_inputs", inputs);
    data.register_buffer(std::string(part) + "_targets", classes ? first.argmax(1) : first);
  }
  data.save(file);
}

ReplicaOptions options(const std::string& data) {
  return {.seed = 1, .ranks = 2, .batch = 8, .epochs = 20, .data = data};
}

struct Files {
  troupe::test::Scratch folder;
  std::string model = (folder / "model.pt").string();
  std::string data = (folder / "data.pt").string();
};

void train(Replica& replica) {
  while (replica.step() < replica.steps()) {
    TreeFold fold(2, replica.gradient_length());
    std::optional<Slice> buffers;
    for (Rank rank = 0; rank < 2; ++rank) {
      const auto result = replica.run_rank(rank);
      BOOST_REQUIRE_MESSAGE(result, troupe::test::why(result));
      BOOST_REQUIRE(fold.add({0, rank}, result->gradient));
      if (result->buffers) buffers = result->buffers;
    }
    auto mean = fold.take().front().values;
    for (float& value : mean) value /= 2;
    BOOST_REQUIRE(replica.apply(mean, buffers->bytes(), {}));
  }
}

BOOST_AUTO_TEST_CASE(a_script_module_learns_and_gives_the_same_bits_again) {
  const Files files;
  save_model(files.model);
  for (const bool classes : {true, false}) {
    save_data(files.data, classes);
    std::vector<std::byte> states[2];
    for (auto& state : states) {
      auto replica = Replica::make(make_script_program(files.model), options(files.data));
      BOOST_REQUIRE_MESSAGE(replica, troupe::test::why(replica));
      BOOST_TEST(replica->gradient_length() == 8U);
      BOOST_TEST(replica->buffer_bytes() == sizeof(float));
      const double before = replica->evaluate()->loss;
      train(*replica);
      BOOST_TEST(replica->evaluate()->loss < before);
      state = replica->save();
    }
    BOOST_TEST((states[0] == states[1]));
  }
}

BOOST_AUTO_TEST_CASE(files_that_are_no_such_modules_are_named) {
  const Files files;
  save_model(files.model);
  const auto refusal = [&](const std::string& data) {
    const auto made = Replica::make(make_script_program(files.model), options(data));
    BOOST_REQUIRE(!made);
    return made.error().what;
  };
  BOOST_TEST(refusal("").starts_with("a TorchScript module needs the key 'data'"));
  BOOST_TEST(refusal(files.model) == files.model + ": has no tensor train_inputs");
  save_data(files.data, true, 63);
  BOOST_TEST(refusal(files.data) == files.data +
                                        ": train_inputs and train_targets differ in their "
                                        "first dimension");
  save_data(files.data, true);
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(Replica::make(make_script_program("/nowhere.pt"), options(files.data))),
      std::runtime_error, [](const std::runtime_error& fault) {
        return std::string(fault.what()).starts_with("/nowhere.pt: no TorchScript module");
      });
}

}  // namespace
}  // namespace troupe::easyscale
