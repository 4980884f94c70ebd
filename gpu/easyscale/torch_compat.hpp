// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/autocast_mode.h>
#include <torch/optim/optimizer.h>
#include <torch/version.h>

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

/// Computes in bfloat16 what torch's autocast thinks can bear it, for as long as it lives; does
/// nothing unless `on`.
class Autocast {
 public:
  Autocast(at::DeviceType device, bool on) : device_(device), on_(on) { set(true); }
  ~Autocast() {
    set(false);
    if (on_) at::autocast::clear_cache();
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  void set(bool enabled) const {
    if (!on_) return;
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, enabled);
#else
    if (device_ == at::kCPU) {
      at::autocast::set_autocast_cpu_dtype(at::kBFloat16);
      at::autocast::set_cpu_enabled(enabled);
    } else {
      at::autocast::set_autocast_gpu_dtype(at::kBFloat16);
      at::autocast::set_enabled(enabled);
    }
#endif
  }

  at::DeviceType device_;
  bool on_;
};

}  // namespace troupe::easyscale
