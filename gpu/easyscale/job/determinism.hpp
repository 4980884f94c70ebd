// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace troupe::easyscale {

/// What must not change a job's bits (EasyScale, arXiv 2208.14228, section 3.3).
enum class Determinism : std::uint8_t {
  d0,  ///< nothing may: the same trainers on machines of one type, none of which dies
  d1,  ///< any number of trainers, on machines of one type
  d2,  ///< on all x86-64 machines that have AVX2
};

[[nodiscard]] std::string to_string(Determinism level);

/// The environment in which a process has to be started that is to honour a level: torch, oneDNN
/// and BLAS read it when they are loaded.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> environment_for(Determinism level);

}  // namespace troupe::easyscale
