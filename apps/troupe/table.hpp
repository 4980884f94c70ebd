// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace troupe {

using TableRow = std::vector<std::string>;

/// Columns aligned with blanks, two between them, the last one ragged; one line a row, the header
/// first. An empty cell is written "-", so that every row has the same number of columns.
[[nodiscard]] std::string format_table(const TableRow& header, const std::vector<TableRow>& rows);

}  // namespace troupe
