// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/restart_budget.hpp"

#include <boost/test/unit_test.hpp>

namespace troupe {
namespace {

using std::chrono::seconds;

BOOST_AUTO_TEST_CASE(one_restart_more_than_allowed_within_the_window_is_too_many) {
  RestartBudget budget(3, seconds(10));
  const RestartBudget::Time start{};
  BOOST_TEST(budget.spend(start));
  BOOST_TEST(budget.spend(start + seconds(1)));
  BOOST_TEST(budget.spend(start + seconds(2)));
  BOOST_TEST(!budget.spend(start + seconds(9)));
}

BOOST_AUTO_TEST_CASE(the_window_slides) {
  RestartBudget budget(2, seconds(10));
  const RestartBudget::Time start{};
  BOOST_TEST(budget.spend(start));
  BOOST_TEST(budget.spend(start + seconds(8)));
  BOOST_TEST(!budget.spend(start + seconds(10)));
  BOOST_TEST(budget.spend(start + seconds(11)));  // the first one is 11 s old
  BOOST_TEST(!budget.spend(start + seconds(12)));
}

BOOST_AUTO_TEST_CASE(a_budget_of_none_allows_none) {
  RestartBudget budget(0, seconds(10));
  BOOST_TEST(!budget.spend({}));
}

}  // namespace
}  // namespace troupe
