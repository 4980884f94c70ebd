// SPDX-License-Identifier: Apache-2.0
//
// A graph file, and after each zero byte a `--set` option.
#include "actors/base/assert.hpp"
#include "tests/unit/actors/control/graph_fixture.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace troupe;
  static const auto kinds = test::some_kinds();
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> parts;
  while (true) {
    const auto end = rest.find('\0');
    parts.push_back(rest.substr(0, end));
    if (end == std::string_view::npos || parts.size() > 8) break;
    rest.remove_prefix(end + 1);
  }
  const std::vector<std::string> sets(parts.begin() + 1, parts.end());
  const auto graph = parse_graph(parts.front(), "g.toml", sets, kinds);
  if (!graph) {
    const auto& what = graph.error().what;
    TROUPE_ASSERT(!what.empty());
    TROUPE_ASSERT(std::all_of(what.begin(), what.end(),
                              [](unsigned char c) { return c == '\n' || (c >= 32 && c != 127); }));
    return 0;
  }
  // What a run stores must be readable as the same graph.
  const auto again = parse_graph(graph->resolved(), "resolved", {}, kinds);
  TROUPE_ASSERT(again && again->resolved() == graph->resolved());
  return 0;
}
