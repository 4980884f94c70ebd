// SPDX-License-Identifier: Apache-2.0
#include "apps/examples/digits/digits.hpp"

#include "gpu/easyscale/replica.hpp"
#include "tests/support/why.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

namespace troupe {
namespace {

using easyscale::Rank;
using easyscale::Replica;

// One trainer that computes all ranks, for as many epochs as the example graph asks for.
double accuracy_after_12_epochs(std::uint64_t seed) {
  auto replica = Replica::make(make_digits_program(), {seed, 8, 8, 12, "", "cpu"});
  BOOST_REQUIRE_MESSAGE(replica, test::why(replica));
  while (replica->step() < replica->steps()) {
    easyscale::TreeFold fold(8, replica->gradient_length());
    std::optional<Slice> buffers;
    for (Rank rank = 0; rank < 8; ++rank) {
      const auto result = replica->run_rank(rank);
      BOOST_REQUIRE_MESSAGE(result, test::why(result));
      BOOST_REQUIRE(fold.add({0, rank}, result->gradient));
      if (result->buffers) buffers = result->buffers;
    }
    std::vector<float> gradient = fold.take().front().values;
    for (float& value : gradient) value /= 8.0F;
    BOOST_REQUIRE(replica->apply(gradient, buffers->bytes(), {}));
  }
  const auto accuracy = replica->evaluate();
  BOOST_REQUIRE(accuracy);
  BOOST_TEST(accuracy->counted == 360U);
  return static_cast<double>(accuracy->correct) / static_cast<double>(accuracy->counted);
}

BOOST_AUTO_TEST_CASE(digits_reach_98_percent_whatever_the_seed) {
  const std::uint64_t seeds = std::getenv("TROUPE_LONG") != nullptr ? 20 : 2;
  for (std::uint64_t seed = 7; seed < 7 + seeds; ++seed) {
    BOOST_TEST(accuracy_after_12_epochs(seed) >= 0.98, "seed " << seed);
  }
}

BOOST_AUTO_TEST_CASE(the_data_key_may_name_a_file_or_a_folder) {
  for (const std::string path : {"/nowhere/digits.csv.gz", "/usr"}) {
    const auto replica = Replica::make(make_digits_program(), {7, 8, 8, 1, path, "cpu"});
    BOOST_REQUIRE(!replica);
    BOOST_TEST(replica.error().what.starts_with(path));
    BOOST_TEST(replica.error().what.find("digits.csv.gz: No such file") != std::string::npos);
  }
}

}  // namespace
}  // namespace troupe
