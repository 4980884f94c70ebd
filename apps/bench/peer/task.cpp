// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/peer/task.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace troupe::bench {

std::string to_line(const Task& task) {
  std::ostringstream out;
  out << static_cast<int>(task.work) << ' ' << static_cast<int>(task.lane) << ' ' << task.bytes
      << ' ' << task.count << ' ' << task.window;
  return out.str();
}

Result<Task> parse_task(const std::string& line) {
  std::istringstream in(line);
  int work = -1;
  int lane = -1;
  Task task;
  in >> work >> lane >> task.bytes >> task.count >> task.window;
  if (!in || work < 0 || work > static_cast<int>(Work::pull_message) || lane < 0 ||
      lane > static_cast<int>(Lane::local) || task.count == 0) {
    return fail(ErrorCode::corrupt, "'" + line + "' is no measurement");
  }
  task.work = static_cast<Work>(work);
  task.lane = static_cast<Lane>(lane);
  return task;
}

double percentile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto rank = std::ceil(share * static_cast<double>(values.size())) - 1;
  const auto index = static_cast<std::size_t>(std::max(0.0, rank));
  return values[std::min(index, values.size() - 1)];
}

}  // namespace troupe::bench
