// SPDX-License-Identifier: Apache-2.0
// The paper's scan (arXiv 2208.14228, section 3.3) decides whether a model gets D2: on GPUs that
// costs convolutions dearly and other operators nothing. On CPUs all kernels exist for all
// instruction sets, so it only says what is to be expected.
#include "gpu/easyscale/engine/module_scan.hpp"

#include <torch/nn/module.h>

namespace troupe::easyscale {
namespace {

// "torch::nn::Conv2dImpl" -> "Conv2d"
std::string short_name(std::string name) {
  if (const auto colon = name.rfind(':'); colon != std::string::npos) name.erase(0, colon + 1);
  constexpr std::string_view suffix = "Impl";
  if (name.size() > suffix.size() && name.ends_with(suffix)) name.resize(name.size() - 4);
  return name;
}

std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

int count(const std::map<std::string, int>& kinds, std::string_view prefix) {
  int sum = 0;
  for (const auto& [kind, number] : kinds) sum += kind.starts_with(prefix) ? number : 0;
  return sum;
}

}  // namespace

ModuleScan scan_modules(const torch::nn::Module& model) {
  ModuleScan out;
  for (const auto& parameter : model.parameters()) {
    out.parameters += static_cast<std::uint64_t>(parameter.numel());
  }
  for (const auto& module : model.modules(/*include_self=*/true)) {
    if (module->children().empty()) ++out.kinds[short_name(module->name())];
  }
  return out;
}

std::string ModuleScan::text() const {
  std::string list;
  for (const auto& [kind, number] : kinds) {
    list += (list.empty() ? " in " : ", ") + std::to_string(number) + " " + kind;
  }
  return with_commas(parameters) + " parameters" + list;
}

std::string ModuleScan::costs() const {
  const int convolutions = count(kinds, "Conv");
  const std::string second =
      convolutions == 0 ? "nothing is known to be slower for it, there are no convolutions"
                        : std::to_string(convolutions) +
                              " convolution(s) lose what wider instructions than AVX2 would give";
  return "D0: one sum per trainer; D1: up to about 2 log2(ranks) sums per trainer; D2: " + second;
}

}  // namespace troupe::easyscale
