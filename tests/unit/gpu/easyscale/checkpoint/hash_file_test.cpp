// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/checkpoint/hash_file.hpp"

#include "tests/unit/gpu/easyscale/checkpoint/states.hpp"

namespace troupe::easyscale {
namespace {

using test::has;

constexpr const char* group = "/jobs/digits/trainers";

std::string hash(char digit) { return std::string(64, digit); }

std::string line(std::uint64_t step, const std::string& tensor, char digit) {
  return hash_line(step, group, tensor, hash(digit)) + "\n";
}

std::string file(const std::string& lines) { return std::string(hash_file_head) + "\n" + lines; }

RunHashes parse(const std::string& text) {
  auto parsed = parse_hashes(text);
  BOOST_REQUIRE_MESSAGE(parsed, troupe::test::why(parsed));
  return *parsed;
}

BOOST_AUTO_TEST_CASE(lines_are_read_by_step_and_tensor) {
  const auto run = parse(file(line(10, "w", 'a') + line(10, "v", 'b') + line(20, "w", 'c')));
  BOOST_REQUIRE(run.size() == 2U);
  const auto& ten = run.at({group, 10});
  BOOST_REQUIRE(ten.size() == 2U);
  BOOST_TEST(ten[1].first == "v");
  BOOST_TEST(ten[1].second == hash('b'));
}

BOOST_AUTO_TEST_CASE(a_step_that_was_done_again_counts_as_it_was_last) {
  const auto again = line(10, "w", 'c') + line(10, "v", 'd');
  for (const auto& between : {std::string(), line(20, "w", 'e')}) {
    const auto run = parse(file(line(10, "w", 'a') + line(10, "v", 'b') + between + again));
    const auto& ten = run.at({group, 10});
    BOOST_REQUIRE(ten.size() == 2U);
    BOOST_TEST(ten[0].second == hash('c'));
    BOOST_TEST(ten[1].second == hash('d'));
  }
}

BOOST_AUTO_TEST_CASE(a_last_line_that_was_cut_off_does_not_count) {
  const std::string whole = file(line(10, "w", 'a') + line(20, "w", 'b'));
  for (std::size_t size = whole.size() - 1; size > whole.size() - 40; --size) {
    BOOST_TEST(parse(whole.substr(0, size)).size() == 1U);
  }
  BOOST_TEST(parse("").empty());
}

BOOST_AUTO_TEST_CASE(other_lines_are_refused_with_their_number) {
  const auto refusal = [](const std::string& text) {
    const auto parsed = parse_hashes(text);
    BOOST_REQUIRE(!parsed);
    return parsed.error().what;
  };
  BOOST_TEST(has(refusal("something\n"), "line 1: this is no file of hashes"));
  BOOST_TEST(has(refusal("troupe-hashes 2\n"), "line 1: format \"troupe-hashes 2\""));
  const std::string good = line(10, "w", 'a');
  for (const std::string& bad :
       {std::string("\n"), std::string("10 a b\n"), "x" + good, "10 " + good,
        hash_line(10, group, "w", "12") + "\n", hash_line(10, group, "w", hash('g')) + "\n",
        hash_line(10, group, std::string(3000, 'w'), hash('a')) + "\n"}) {
    BOOST_TEST(has(refusal(file(good + bad)), "line 3: not STEP GROUP TENSOR SHA256"), bad);
  }
}

BOOST_AUTO_TEST_CASE(the_first_step_and_tensor_that_differ_are_found_among_common_steps) {
  const auto steps = [](const std::vector<std::pair<std::uint64_t, char>>& hashes) {
    std::string lines;
    for (const auto& [step, digit] : hashes) lines += line(step, "v", 'a') + line(step, "w", digit);
    return parse(file(lines));
  };
  const auto a = steps({{10, 'a'}, {20, 'b'}, {25, 'f'}, {30, 'c'}, {40, 'd'}});
  const auto b = steps({{10, 'a'}, {20, 'b'}, {30, '1'}, {40, '2'}});
  const auto found = compare_hashes(a, b);
  BOOST_TEST(found.steps == 4U);
  BOOST_REQUIRE(found.first.has_value());
  BOOST_TEST(found.first->step == 30U);
  BOOST_TEST(found.first->tensor == "w");
  BOOST_TEST(found.last_equal.value() == 20U);
  BOOST_TEST(!compare_hashes(a, a).first.has_value());
  BOOST_TEST(compare_hashes(a, a).steps == 5U);
  BOOST_TEST(compare_hashes(a, RunHashes{}).steps == 0U);
}

BOOST_AUTO_TEST_CASE(a_tensor_that_one_run_lacks_differs) {
  const auto a = parse(file(line(10, "w", 'a') + line(10, "x", 'b')));
  const auto b = parse(file(line(10, "w", 'a')));
  BOOST_TEST(compare_hashes(a, b).first->tensor == "x");
  BOOST_TEST(compare_hashes(b, a).first->tensor == "x");
  BOOST_TEST(!compare_hashes(b, a).last_equal.has_value());
}

}  // namespace
}  // namespace troupe::easyscale
