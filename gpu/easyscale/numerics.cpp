// SPDX-License-Identifier: Apache-2.0
#include "gpu/easyscale/numerics.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <cstdlib>

namespace troupe::easyscale {
namespace {

// OpenBLAS, where torch's BLAS is one: looked up by name, since any other BLAS will do as well.
template <class Function>
Function* in_openblas(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

std::string blas() {
  const auto config = in_openblas<const char*()>("openblas_get_config");
  const auto core = in_openblas<const char*()>("openblas_get_corename");
  if (config == nullptr || core == nullptr) return at::hasMKL() ? "MKL" : "other";
  const std::string words = config();  // "OpenBLAS 0.3.21 ... MAX_THREADS=64"
  const auto second = words.find(' ', words.find(' ') + 1);
  return words.substr(0, second) + " " + core();
}

// The instruction set that torch's own kernels were picked for; it says so in its description only.
std::string capability() {
  const std::string config = at::show_config();
  const std::string label = "CPU capability usage: ";
  const auto at = config.find(label);
  if (at == std::string::npos) return "unknown";
  const auto first = at + label.size();
  return config.substr(first, config.find('\n', first) - first);
}

// oneDNN picks its kernels by these, unless ONEDNN_MAX_CPU_ISA tells it less.
std::string cpu() {
  std::string out;
#if defined(__x86_64__)
  const auto add = [&](bool has, const char* name) {
    if (has) out += (out.empty() ? "" : "+") + std::string(name);
  };
  add(__builtin_cpu_supports("avx2") != 0, "avx2");
  add(__builtin_cpu_supports("fma") != 0, "fma");
  add(__builtin_cpu_supports("avx512f") != 0, "avx512f");
  add(__builtin_cpu_supports("avx512bw") != 0, "avx512bw");
  add(__builtin_cpu_supports("avx512vnni") != 0, "avx512vnni");
#endif
  if (const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA")) {
    out += " at most " + std::string(limit);
  }
  return out.empty() ? "other" : out;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string onednn() {
  const std::string words = at::get_mkldnn_version();  // "Intel(R) MKL-DNN v2.7.2 (Git Hash ...)"
  const auto version = words.find(" v");
  if (version == std::string::npos) return "none";
  const auto end = words.find(' ', version + 1);
  return words.substr(version + 2, end == std::string::npos ? end : end - version - 2);
}

}  // namespace

void pin_numerics() {
  at::set_num_threads(1);
  if (const auto set = in_openblas<void(int)>("openblas_set_num_threads")) set(1);
  at::globalContext().setDeterministicAlgorithms(true, false);
  at::globalContext().setDeterministicCuDNN(true);
  at::globalContext().setBenchmarkCuDNN(false);
}

std::vector<std::pair<std::string, std::string>> about_numerics() {
  return {{"torch", TORCH_VERSION},
          {"blas", blas()},
          {"capability", capability()},
          {"onednn", onednn()},
          {"cpu", cpu()},
          {"threads", std::to_string(at::get_num_threads())}};
}

Result<void> check_numerics(Determinism level) {
  if (level != Determinism::d2) return {};
  std::string wrong;
  const auto expect = [&](const char* what, const std::string& is, const std::string& wanted) {
    if (is == wanted) return;
    wrong +=
        (wrong.empty() ? "" : ", ") + std::string(what) + " is " + (is.empty() ? "not set" : is);
  };
  expect("torch's instruction set", capability(), "AVX2");
  expect("ONEDNN_MAX_CPU_ISA", variable("ONEDNN_MAX_CPU_ISA"), "AVX2");
  if (const auto core = in_openblas<const char*()>("openblas_get_corename")) {
    expect("OpenBLAS's core type", core(), "Haswell");
  } else if (at::hasMKL()) {
    expect("MKL_CBWR", variable("MKL_CBWR"), "AVX2");
  }
  if (wrong.empty()) return {};
  return fail(ErrorCode::unavailable,
              "determinism D2 needs AVX2 and nothing wider, and here " + wrong +
                  "; a trainer process is started so, unless its CPU has no AVX2, or a program in "
                  "between sets something else");
}

std::string numeric_fingerprint(Determinism level) {
  std::string line = to_string(level);
  for (const auto& [name, value] : about_numerics()) {
    if (level == Determinism::d2 && name == "cpu") continue;  // nothing looks at it any more
    line += ", " + name + " " + value;
  }
  return line;
}

}  // namespace troupe::easyscale
