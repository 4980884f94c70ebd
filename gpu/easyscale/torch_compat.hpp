// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <torch/optim/optimizer.h>

#include <sstream>
#include <string>
#include <type_traits>

namespace troupe::easyscale {

// All that differs between the libtorch releases that we build with (1.13 to 2.6).

/// The key under which an optimizer keeps a parameter's state: the parameter's address, as a text
/// up to 2.0 and as it is later.
template <class Optimizer = torch::optim::Optimizer>
auto optimizer_key(const Optimizer& optimizer, const at::Tensor& parameter) {
  using Key = typename std::decay_t<decltype(optimizer.state())>::key_type;
  if constexpr (std::is_pointer_v<Key>) {
    return static_cast<Key>(parameter.unsafeGetTensorImpl());
  } else {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  }
}

}  // namespace troupe::easyscale
