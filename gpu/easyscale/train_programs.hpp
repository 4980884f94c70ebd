// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

namespace troupe {

class TrainProgram;  // train_program.hpp

/// The training programs that a binary offers, by the name that a graph calls them; `main()` fills
/// it and hands it down. Needs no torch to pass on.
using TrainPrograms = std::map<std::string, std::shared_ptr<const TrainProgram>>;

}  // namespace troupe
