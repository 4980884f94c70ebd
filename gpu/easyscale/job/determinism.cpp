// SPDX-License-Identifier: Apache-2.0
// Kernels for wider vectors add in another order, so D2 keeps all libraries to one instruction set.
// It is AVX2 because every x86-64 server since 2015 has it, and because the next lower one that
// torch has is slower by factors.
#include "gpu/easyscale/job/determinism.hpp"

namespace troupe::easyscale {

std::string to_string(Determinism level) {
  switch (level) {
    case Determinism::d0:
      return "D0";
    case Determinism::d1:
      return "D1";
    case Determinism::d2:
      break;
  }
  return "D2";
}

std::vector<std::pair<std::string, std::string>> environment_for(Determinism level) {
  if (level != Determinism::d2) return {};
  return {{"ATEN_CPU_CAPABILITY", "avx2"},
          {"ONEDNN_MAX_CPU_ISA", "AVX2"},
          {"OPENBLAS_CORETYPE", "Haswell"},
          {"MKL_CBWR", "AVX2"}};
}

}  // namespace troupe::easyscale
