// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/table.hpp"

#include <boost/test/unit_test.hpp>

using namespace troupe;

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(aligns_all_columns_but_the_last) {
  BOOST_TEST(format_table({"A", "LONG", "B"}, {{"value", "x", "a longer end"}}) ==
             "A      LONG  B\n"
             "value  x     a longer end\n");
}

BOOST_AUTO_TEST_CASE(an_empty_or_absent_cell_is_a_dash) {
  BOOST_TEST(format_table({"A", "B"}, {{"", ""}, {"x"}}) == "A  B\n-  -\nx  -\n");
}

BOOST_AUTO_TEST_CASE(a_table_without_rows_is_its_header) {
  BOOST_TEST(format_table({"A", "B"}, {}) == "A  B\n");
}

BOOST_AUTO_TEST_SUITE_END()
