// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/actors/report.hpp"

#include "apps/troupe/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace troupe::bench {
namespace {

/// The median of the rounds' own ratios: what slows a whole round down does not count.
std::optional<double> ratio_of(const Bar& bar, const Outcome& outcome) {
  const auto ours = outcome.samples.find(bar.ours);
  const auto theirs = outcome.samples.find(bar.theirs);
  if (ours == outcome.samples.end() || theirs == outcome.samples.end()) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(ours->second.size(), theirs->second.size()); ++i) {
    ratios.push_back(ours->second[i] / theirs->second[i]);
  }
  return median(std::move(ratios));
}

bool passes(const Bar& bar, double ratio) {
  return bar.at_least ? ratio >= bar.ratio : ratio <= bar.ratio;
}

std::string bar_text(const Bar& bar) {
  return fmt::format("{} {}", bar.at_least ? ">=" : "<=", bar.ratio);
}

/// "remote_inline_rtt_us_p50" -> "remote_inline_rtt_skipped"
std::string skipped_key(const std::string& key) {
  return key.substr(0, std::min(key.find("_us"), key.size())) + "_skipped";
}

Json::Array as_array(const std::vector<double>& values) {
  return Json::Array(values.begin(), values.end());
}

Json::Object bars_of(const Plan& plan, const Outcome& outcome) {
  Json::Object bars;
  for (const auto& bar : plan.bars) {
    if (const auto ratio = ratio_of(bar, outcome)) {
      bars.emplace_back(
          bar.name,
          Json::Object{{"ratio", *ratio}, {"bar", bar_text(bar)}, {"met", passes(bar, *ratio)}});
    }
  }
  return bars;
}

std::string short_number(double value) {
  return value >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
}

std::string cell(const Outcome& outcome, const std::string& key) {
  const auto found = outcome.samples.find(key);
  if (found == outcome.samples.end()) return {};
  const auto [low, high] = std::minmax_element(found->second.begin(), found->second.end());
  return fmt::format("{} ({}..{})", short_number(median(found->second)), short_number(*low),
                     short_number(*high));
}

}  // namespace

Json::Object figures_of(const Plan& plan, const Outcome& outcome) {
  Json::Object figures;
  Json::Object spread;
  Json::Object samples;
  for (const auto& probe : plan.probes) {
    for (const auto& key : probe.keys) {
      const auto found = outcome.samples.find(key);
      if (found == outcome.samples.end()) continue;
      const auto [low, high] = std::minmax_element(found->second.begin(), found->second.end());
      figures.emplace_back(key, median(found->second));
      spread.emplace_back(key, Json::Array{*low, *high});
      samples.emplace_back(key, as_array(found->second));
    }
  }
  for (const auto& [key, why] : outcome.skipped) figures.emplace_back(skipped_key(key), why);
  figures.emplace_back("cores_used", outcome.cores);
  figures.emplace_back("bars", bars_of(plan, outcome));
  figures.emplace_back("spread", std::move(spread));
  figures.emplace_back("samples", std::move(samples));
  return figures;
}

Json report(const Plan& plan, const std::vector<Outcome>& outcomes, Json::Object conditions) {
  Json::Object all = {{"bench", "actors"}, {"rounds", outcomes.front().rounds}};
  const auto& one = outcomes.back();
  if (outcomes.size() > 1) {
    for (auto& [key, value] : figures_of(plan, outcomes.front())) all.emplace_back(key, value);
  } else {
    all.emplace_back("two_cores_skipped", "this process may use one core only");
  }
  all.emplace_back("one_core", figures_of(plan, one));
  all.emplace_back("conditions", std::move(conditions));
  return all;
}

std::string report_table(const Plan& plan, const std::vector<Outcome>& outcomes) {
  TableRow header = {"FIGURE"};
  for (const auto& outcome : outcomes) header.push_back("CORES " + outcome.cores);
  std::vector<TableRow> rows;
  for (const auto& probe : plan.probes) {
    for (const auto& key : probe.keys) {
      TableRow row = {key};
      for (const auto& outcome : outcomes) row.push_back(cell(outcome, key));
      rows.push_back(std::move(row));
    }
  }
  for (const auto& bar : plan.bars) {
    TableRow row = {bar.name + " " + bar_text(bar)};
    for (const auto& outcome : outcomes) {
      const auto ratio = ratio_of(bar, outcome);
      row.push_back(ratio ? fmt::format("{:.2f} {}", *ratio, passes(bar, *ratio) ? "met" : "missed")
                          : std::string());
    }
    rows.push_back(std::move(row));
  }
  return format_table(header, rows);
}

}  // namespace troupe::bench
