// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/replica.hpp"

#include "tests/support/why.hpp"
#include "tests/unit/gpu/easyscale/line_program.hpp"

#include <ATen/ATen.h>
#include <boost/test/unit_test.hpp>

#include <cstring>

namespace troupe::easyscale {
namespace {

using test::LineProgram;

ReplicaOptions options() { return {7, 2, 4, 3, "", "cpu"}; }

Replica make(std::shared_ptr<LineProgram> program = std::make_shared<LineProgram>()) {
  auto made = Replica::make(std::move(program), options());
  BOOST_REQUIRE_MESSAGE(made, troupe::test::why(made));
  return std::move(*made);
}

// `helper` computes rank 1, if there is one.
void do_step(Replica& replica, Replica* helper = nullptr) {
  std::vector<float> sum(replica.gradient_length());
  std::optional<Slice> buffers;
  std::vector<std::byte> contexts;
  for (Rank rank = 0; rank < 2; ++rank) {
    const auto result = (rank == 1 && helper != nullptr ? *helper : replica).run_rank(rank);
    BOOST_REQUIRE(result);
    contexts.insert(contexts.end(), result->context.begin(), result->context.end());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += result->gradient[i] / 2;
    if (result->buffers) buffers = result->buffers;
  }
  for (Replica* one : {&replica, helper}) {
    if (one != nullptr) BOOST_REQUIRE(one->apply(sum, buffers->bytes(), contexts));
  }
}

BOOST_AUTO_TEST_CASE(a_ranks_gradient_depends_on_state_step_and_rank_alone) {
  Replica one = make();
  Replica other = make();
  BOOST_TEST(one.steps() == 15U);
  BOOST_TEST(one.gradient_length() == 6U + 2U + 4U + 4U);
  const auto first = *one.run_rank(1);
  const std::vector<float> expected(first.gradient.begin(), first.gradient.end());
  BOOST_TEST(!first.buffers);
  BOOST_REQUIRE(other.run_rank(0));  // leaves other buffers and another generator behind
  BOOST_REQUIRE(other.evaluate());
  const auto again = *other.run_rank(1);
  BOOST_TEST(std::vector<float>(again.gradient.begin(), again.gradient.end()) == expected,
             boost::test_tools::per_element());
  BOOST_TEST(again.report.loss == first.report.loss);
}

// The bytes of a tensor of a saved state.
std::vector<std::byte> bytes_at(const std::vector<std::byte>& saved, const StateLayout& layout,
                                const std::string& name) {
  for (const StateTensor& tensor : layout.tensors) {
    if (tensor.info.name != name) continue;
    const auto begin = saved.begin() + static_cast<std::ptrdiff_t>(tensor.offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(byte_size(tensor.info).value())};
  }
  BOOST_FAIL("there is no " + name);
  return {};
}

BOOST_AUTO_TEST_CASE(the_tensors_of_a_saved_state_are_where_its_layout_says) {
  const auto program = std::make_shared<LineProgram>();
  Replica replica = make(program);
  const auto made = program->made;  // before any step: no optimizer state yet
  BOOST_TEST(replica.state_layout(replica.save()).value().tensors.size() == 10U);
  for (int i = 0; i < 2; ++i) do_step(replica);
  const auto saved = replica.save();
  const auto layout = replica.state_layout(saved).value();
  BOOST_TEST(layout.optimizer == "adam");
  std::vector<std::byte> parameters;
  for (const auto& item : made->named_parameters()) {
    const auto bytes = bytes_at(saved, layout, item.key());
    parameters.insert(parameters.end(), bytes.begin(), bytes.end());
    BOOST_TEST(bytes_at(saved, layout, "optimizer." + item.key() + ".exp_avg_sq").size() ==
               bytes.size());
  }
  BOOST_TEST((parameters == replica.parameter_bytes()));
  const auto number = [&]<class T>(const std::string& name, T value) {
    const auto bytes = bytes_at(saved, layout, name);
    BOOST_REQUIRE(bytes.size() == sizeof(T));
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  };
  BOOST_TEST(number("norm.num_batches_tracked", 0.0F) == 2);  // the model makes all of one type
  BOOST_TEST(number("optimizer.linear.weight.step", std::int64_t{0}) == 2);
  BOOST_TEST(
      (bytes_at(saved, layout, "rank.0.memory") != bytes_at(saved, layout, "rank.1.memory")));
}

BOOST_AUTO_TEST_CASE(bytes_that_are_no_saved_state_have_no_layout) {
  Replica replica = make();
  do_step(replica);
  auto saved = replica.save();
  saved.pop_back();
  BOOST_TEST(!replica.state_layout(saved));
  saved.resize(40);
  BOOST_TEST(!replica.state_layout(saved));
  BOOST_TEST(!replica.state_layout({}));
}

BOOST_AUTO_TEST_CASE(training_goes_on_bit_by_bit_in_another_replica_with_the_saved_state) {
  Replica one = make();
  for (int i = 0; i < 4; ++i) do_step(one);
  Replica other = make();
  do_step(other);
  BOOST_REQUIRE(other.load(one.save()));
  BOOST_TEST(other.step() == 4U);
  BOOST_TEST((other.save() == one.save()));
  for (int i = 0; i < 3; ++i) {
    do_step(one);
    do_step(other);
  }
  BOOST_TEST((other.save() == one.save()));
}

BOOST_AUTO_TEST_CASE(what_a_rank_keeps_is_its_own_wherever_it_is_computed) {
  Replica one = make();
  Replica other = make();
  Replica third = make();
  BOOST_TEST(one.context_bytes() == 2 * sizeof(float));
  BOOST_TEST(one.buffer_bytes() == (2 + 2 + 1) * sizeof(float));
  for (int i = 0; i < 3; ++i) {
    do_step(one);
    do_step(other, &third);
  }
  const auto first = *one.run_rank(0);
  const std::vector<std::byte> of_first = first.context;
  BOOST_TEST((of_first != one.run_rank(1)->context));
  BOOST_TEST((of_first == third.run_rank(0)->context));
  BOOST_TEST((one.save() == other.save()));
  BOOST_TEST((one.save() == third.save()));
}

BOOST_AUTO_TEST_CASE(a_parameter_cannot_be_a_ranks_own) {
  const auto program = std::make_shared<LineProgram>();
  program->keep_unused = true;
  const auto made = Replica::make(program, options());
  BOOST_REQUIRE(!made);
  BOOST_TEST(made.error().what ==
             "what a rank keeps for itself must be a tensor of the model that is no parameter");
}

BOOST_AUTO_TEST_CASE(the_parameters_bytes_are_theirs_in_order_and_nothing_else) {
  const auto program = std::make_shared<LineProgram>();
  Replica replica = make(program);
  do_step(replica);
  BOOST_TEST((replica.parameter_bytes() == test::bytes_of_parameters(*program->made)));
  BOOST_TEST(replica.parameter_bytes().size() == sizeof(float) * replica.gradient_length());
}

BOOST_AUTO_TEST_CASE(a_damaged_state_is_refused_and_changes_nothing) {
  Replica replica = make();
  do_step(replica);
  const auto good = replica.save();
  for (std::size_t size = 0; size < good.size(); size += 7) {
    BOOST_REQUIRE(!replica.load(std::span(good).first(size)));
  }
  auto longer = good;
  longer.push_back(std::byte{0});
  BOOST_TEST(!replica.load(longer));
  auto newer = good;
  newer[8] = std::byte{9};
  BOOST_TEST(replica.load(newer).error().what ==
             "a saved training state of version 9; this program reads version 2");
  BOOST_TEST((replica.save() == good));
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_names_step_and_rank) {
  const auto program = std::make_shared<LineProgram>();
  Replica replica = make(program);
  do_step(replica);
  program->explode = true;
  BOOST_TEST(replica.run_rank(1).error().what ==
             "the loss of virtual rank 1 in step 1 is inf: lower the learning rate or look at the "
             "data");
}

BOOST_AUTO_TEST_CASE(a_rank_that_runs_out_of_memory_is_computed_once_more) {
  const auto program = std::make_shared<LineProgram>();
  Replica replica = make(program);
  Replica other = make();
  do_step(replica);
  do_step(other);
  program->exhausted = 1;
  do_step(replica);
  do_step(other);
  BOOST_TEST(program->exhausted == 0);
  BOOST_TEST((replica.save() == other.save()));
  program->exhausted = 2;
  const auto given_up = replica.run_rank(1);
  BOOST_REQUIRE(!given_up);
  BOOST_TEST(given_up.error().what ==
             "virtual rank 1 ran out of memory in step 2, twice: lower batch, and raise accumulate "
             "by as much");
  BOOST_TEST(replica.run_rank(1).has_value());
}

BOOST_AUTO_TEST_CASE(less_data_than_one_step_takes_is_refused) {
  ReplicaOptions greedy = options();
  greedy.batch = 21;  // of 40 samples, for 2 ranks
  const auto refused = Replica::make(std::make_shared<LineProgram>(), greedy);
  BOOST_REQUIRE(!refused);
  BOOST_TEST(refused.error().what ==
             "one step takes 42 samples (ranks x batch x accumulate), and the training set has 40: "
             "lower ranks or batch");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_trained_the_same_is_refused) {
  const auto program = std::make_shared<LineProgram>();
  program->type = at::kDouble;
  const auto wide = Replica::make(program, options());
  BOOST_REQUIRE(!wide);
  BOOST_TEST(wide.error().what ==
             "parameter unused is Double; elastic training handles Float (float32) only");
  ReplicaOptions missing = options();
  missing.data = "nowhere";
  const auto lost = Replica::make(std::make_shared<LineProgram>(), missing);
  BOOST_TEST(lost.error().what == "nowhere: no such file");
  Replica replica = make();
  BOOST_TEST(!replica.apply(std::vector<float>(3), {}, {}));
}

}  // namespace
}  // namespace troupe::easyscale
