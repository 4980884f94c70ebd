// SPDX-License-Identifier: Apache-2.0
#include "apps/troupe/table.hpp"

#include <algorithm>

namespace troupe {

std::string format_table(const TableRow& header, const std::vector<TableRow>& rows) {
  std::vector<TableRow> all = {header};
  all.insert(all.end(), rows.begin(), rows.end());
  std::vector<std::size_t> widths(header.size(), 0);
  for (auto& row : all) {
    row.resize(header.size());
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (row[column].empty()) row[column] = "-";
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string out;
  for (const auto& row : all) {
    for (std::size_t column = 0; column + 1 < row.size(); ++column) {
      out += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
    }
    out += (row.empty() ? "" : row.back()) + "\n";
  }
  return out;
}

}  // namespace troupe
