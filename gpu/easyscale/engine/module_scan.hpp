// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace torch::nn {
class Module;
}

namespace troupe::easyscale {

/// What a model is made of, as far as its registered modules tell: what it calls as a plain
/// function (at::conv2d, at::softmax) is not seen.
struct ModuleScan {
  std::map<std::string, int> kinds;  ///< "Conv2d" -> how many; modules with children are left out
  std::uint64_t parameters = 0;      ///< elements

  /// "18,818 parameters in 2 BatchNorm2d, 2 Conv2d, 2 Linear"
  [[nodiscard]] std::string text() const;
  /// One sentence on what each level of determinism costs this model.
  [[nodiscard]] std::string costs() const;
};

[[nodiscard]] ModuleScan scan_modules(const torch::nn::Module& model);

}  // namespace troupe::easyscale
