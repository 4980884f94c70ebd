// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/result.hpp"

#include <filesystem>
#include <string>

namespace troupe::digits {

/// Where the data may be.
struct DataPlaces {
  std::string asked;              ///< file or folder that the graph names; empty: it names none
  std::string variable;           ///< $TROUPE_DATA; empty: not set
  std::filesystem::path program;  ///< folder of the running program
  std::filesystem::path built;    ///< folder that the build knows
};

/// The places of this process.
[[nodiscard]] DataPlaces data_places(const std::string& asked);

/// The data's file: the one that the graph asks for; else in $TROUPE_DATA; else of an installed
/// program in ../share/troupe/data, seen from its folder; else where the build had it. The error
/// names all places that were looked at.
[[nodiscard]] Result<std::string> find_data(const DataPlaces& places);

}  // namespace troupe::digits
