// SPDX-License-Identifier: Apache-2.0
#include "actors/core/supervise/placement.hpp"

#include <algorithm>
#include <tuple>

namespace troupe {
namespace {

class SpreadingPolicy final : public PlacementPolicy {
 public:
  Placement place(const PlacementRequest& request,
                  const std::vector<PlacementNode>& nodes) const override {
    Placement result;
    const PlacementNode* best = nullptr;
    for (const auto& node : nodes) {
      if (auto why = misfit(request.needs, node); !why.empty()) {
        result.misfits.emplace_back(node.id, std::move(why));
      } else if (best == nullptr || rank(request, node) < rank(request, *best)) {
        best = &node;
      }
    }
    if (best != nullptr) result.node = best->id;
    return result;
  }

 private:
  /// The smaller, the better.
  using Rank = std::tuple<long, std::int64_t, std::int64_t, NodeId>;
  static Rank rank(const PlacementRequest& request, const PlacementNode& node) {
    const auto siblings = std::count(request.siblings.begin(), request.siblings.end(), node.id);
    return {siblings, -static_cast<std::int64_t>(node.free.cpus),
            -static_cast<std::int64_t>(node.free.memory.count), node.id};
  }
};

}  // namespace

std::string to_string(Bytes bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  auto count = bytes.count;
  while (unit < 4 && count >= 1024 && count % 1024 == 0) {
    count /= 1024;
    ++unit;
  }
  return std::to_string(count) + units[unit];
}

std::string to_string(const Needs& needs) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : " ") + part; };
  if (needs.amounts.cpus > 0) add("cpus=" + std::to_string(needs.amounts.cpus));
  if (needs.amounts.memory.count > 0) add("memory=" + to_string(needs.amounts.memory));
  if (needs.amounts.gpu > 0) add("gpu=" + std::to_string(needs.amounts.gpu));
  for (const auto& label : needs.labels) add(label);
  return text;
}

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= longest_label &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._-=/").find(c) != std::string_view::npos;
         });
}

std::string misfit(const Needs& needs, const PlacementNode& node) {
  if (node.draining) return "is draining";
  for (const auto& label : needs.labels) {
    const bool has = std::find(node.labels.begin(), node.labels.end(), label) != node.labels.end();
    if (!has) return "has no label " + label;
  }
  const auto lacks = [](const char* what, const auto& needed, const auto& free, const auto& total) {
    return std::string("needs ") + what + "=" + needed + ", " + free + " of " + total + " free";
  };
  const auto& want = needs.amounts;
  const auto number = [](std::uint32_t n) { return std::to_string(n); };
  if (want.cpus > node.free.cpus) {
    return lacks("cpus", number(want.cpus), number(node.free.cpus), number(node.total.cpus));
  }
  if (want.memory > node.free.memory) {
    return lacks("memory", to_string(want.memory), to_string(node.free.memory),
                 to_string(node.total.memory));
  }
  if (want.gpu > node.free.gpu) {
    return lacks("gpu", number(want.gpu), number(node.free.gpu), number(node.total.gpu));
  }
  return {};
}

std::string explain(const PlacementRequest& request, const Placement& none) {
  constexpr std::size_t listed = 5;
  const auto needs = to_string(request.needs);
  std::string text = needs.empty() ? "room for it" : needs;
  if (none.misfits.empty()) return text + " (there is no node)";
  text += " (";
  for (std::size_t i = 0; i < std::min(none.misfits.size(), listed); ++i) {
    text += (i > 0 ? "; " : "") + none.misfits[i].first.name + ": " + none.misfits[i].second;
  }
  if (none.misfits.size() > listed) {
    text += "; and " + std::to_string(none.misfits.size() - listed) + " more";
  }
  return text + ")";
}

std::unique_ptr<PlacementPolicy> make_spreading_policy() {
  return std::make_unique<SpreadingPolicy>();
}

}  // namespace troupe
